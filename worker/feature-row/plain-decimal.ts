const ZERO = 48;
const NINE = 57;
const POINT = 46;
const PLUS = 43;
const MINUS = 45;
/** So many digits are below 2^53, hence exact. */
const EXACT_DIGITS = 15;
const POWERS_OF_TEN = Float64Array.from({ length: EXACT_DIGITS + 1 }, (_, power) => 10 ** power);

/**
 * The number that a short plain decimal stands for ("1200", "-3.50", "+.5"), NaN for any other text.
 * Correctly rounded: both the digits and the power of ten are exact, and one division rounds once
 * (Clinger, How to Read Floating Point Numbers Accurately, 1990).
 */
export function plainDecimal(text: string): number {
  const first = text.charCodeAt(0);
  const start = first === PLUS || first === MINUS ? 1 : 0;
  let point = -1;
  let digits = 0;
  for (let index = start; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code >= ZERO && code <= NINE) digits = digits * 10 + (code - ZERO);
    else if (code === POINT && point < 0) point = index;
    else return Number.NaN;
    if (index - start > EXACT_DIGITS) return Number.NaN;
  }
  const count = text.length - start - (point < 0 ? 0 : 1);
  if (count === 0 || count > EXACT_DIGITS) return Number.NaN;
  const magnitude = point < 0 ? digits : digits / (POWERS_OF_TEN[text.length - point - 1] ?? Number.NaN);
  return first === MINUS ? -magnitude : magnitude;
}
