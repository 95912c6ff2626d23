/* The level of the processor: 1 if it and the system run code for x86-64-v3, else 0. Python calls sf_level_base. */
#include "surefoot.h"

#if defined __x86_64__
#include <cpuid.h>
#endif

SF_EXPORT int SF_NAME(level)(void) {
#if defined __x86_64__
    const unsigned first = 1u << 12 | 1u << 22 | 1u << 23 | 1u << 27 | 1u << 28 | 1u << 29; /* FMA, MOVBE, POPCNT, ... */
    const unsigned second = 1u << 3 | 1u << 5 | 1u << 8;                                    /* BMI1, AVX2, BMI2 */
    unsigned eax, ebx, ecx, edx, low, high;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & first) != first) return 0; /* ... OSXSAVE, AVX, F16C */
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6 || !__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (ebx & second) != second) return 0;
    return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & 1u << 5); /* LZCNT */
#else
    return 0;
#endif
}
