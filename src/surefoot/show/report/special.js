// Student's t and the normal distribution, to about 13 digits.

/** Γ(a + ½) / Γ(a): by recurrence up to a of 40 or more, where the asymptotic series is exact. */
function gammaRatio(a) {
  let factor = 1;
  for (; a < 40; a += 1) factor *= a / (a + 0.5);
  const u = 1 / a;
  const tail = -21 / 32768 + u * (-399 / 262144 + (u * 869) / 4194304);
  const series = 1 + u * (-1 / 8 + u * (1 / 128 + u * (5 / 1024 + u * tail)));
  return factor * Math.sqrt(a) * series;
}

/** The continued fraction of the incomplete beta function (Lentz's method). */
function betaFraction(a, b, x) {
  const tiny = 1e-300;
  const kept = (value) => (Math.abs(value) < tiny ? tiny : value);
  let c = 1;
  let d = 1 / kept(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= 10000; m += 1) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return result;
}

/** The two-sided p of a t statistic: the incomplete beta function of df / (df + t²) with a = df / 2, b = ½. */
function studentP(t, df) {
  if (Number.isNaN(t)) return NaN;
  const a = df / 2;
  const square = t * t;
  const y = square / (df + square);
  const front = (Math.exp(-a * Math.log1p(square / df)) * Math.sqrt(y) * gammaRatio(a)) / Math.sqrt(Math.PI);
  // The fraction converges fast on this side; on the other, the complement's does.
  if (1 - y < (a + 1) / (a + 2.5)) return (front * betaFraction(a, 0.5, 1 - y)) / a;
  return 1 - 2 * front * betaFraction(0.5, a, y);
}

/** The complementary error function: a series of positive terms near 0, a continued fraction beyond. */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x > 27) return 0;
  if (x < 2.5) {
    let term = x;
    let sum = x;
    for (let n = 1; term > sum * 1e-17; n += 1) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }
  let fraction = x;
  for (let n = 80; n > 0; n -= 1) fraction = x + n / 2 / fraction;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
}

/** The normal distribution function. */
function normal(x) {
  return 0.5 * erfc(-x / Math.SQRT2);
}
