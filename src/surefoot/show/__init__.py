"""From results to what people read: tables, figures, reports. Nothing in here decides what is significant."""
