const plainPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/;
/** Longer texts are not numbers. The limits bound the regular expressions on hostile input. */
const maxPlainLength = 1024;
const maxAmountLength = 128;

/** The letters of a country before a sign. Letters of a magnitude ("M$", "k$", "T€") are no country. */
const countryLetters = 'a|ar|au|c|ca|cl|cn|co|ec|fj|g|gb|gy|hk|j|jm|jp|l|ld|mx|n|na|nt|nz|r|rd|s|sg|tt|tw|u|us|uy|z|zw';

/** A sign, perhaps after a country ("US$", "R$"), the NFKC rupee and rial signs, or an ISO 4217 code. */
const currencyPattern = String.raw`(?:${countryLetters})?\p{Sc}|rs\.?|\u0631\u06cc\u0627\u0644|[a-z]{3}`;
const amountPattern = new RegExp(
  `^(?<sign>[+-]?) ?(?<before>${currencyPattern})? ?(?<innerSign>[+-]?) ?` +
    String.raw`(?<open>\(?) ?(?<inside>${currencyPattern})? ?` +
    String.raw`(?<digits>[\d.,' ]*\d\.?)(?:e(?<exponent>[+-]?\d{1,4}))? ?(?<suffix>[kmb]?) ?(?<percent>%?)` +
    String.raw` ?(?<close>\)?) ?(?<percentAfter>%?) ?(?<after>${currencyPattern})?$`,
  'u',
);

const powerOfSuffix: Readonly<Record<string, number>> = { '': 0, k: 3, m: 6, b: 9 };

/**
 * Compiles a parser of numbers as people type them: "$5k", "(5)", "1,200", "1.200,5", "EUR 1'200", "45 %".
 * @param percentIsFraction whether "45%" is 0.45 rather than 45
 * @returns a function from a folded text (see `foldedText`) to a number; NaN for any other text
 */
export function compileNumberText({ percentIsFraction }: { readonly percentIsFraction: boolean }) {
  /** Allows one sign and one code at most ("$5 USD"). */
  const isOneCurrency = (names: readonly (string | undefined)[]): boolean => {
    const [inLetters, signs] = [[] as string[], [] as string[]];
    for (const name of names) if (name) (/^[a-z]{3}$/.test(name) ? inLetters : signs).push(name);
    return signs.length <= 1 && inLetters.length <= 1 && inLetters.every((name) => currencyCodes.has(name));
  };

  return (text: string): number => {
    if (text.length > maxPlainLength) return Number.NaN;
    if (plainPattern.test(text)) return finite(Number(text));
    if (text.length > maxAmountLength) return Number.NaN;
    const groups = amountPattern.exec(
      text.replaceAll('\u2212', '-').replaceAll('\u2019', "'").replace(/^'|'$/g, ''),
    )?.groups;
    if (!groups) return Number.NaN;
    const { sign, innerSign, before, inside, after, open, close, percent, percentAfter } = groups;
    if (Boolean(open) !== Boolean(close) || (percent && percentAfter)) return Number.NaN;
    if ([sign, innerSign, open].filter(Boolean).length > 1) return Number.NaN;
    if (!isOneCurrency([before, inside, after])) return Number.NaN;

    const digits = plainDigits((groups.digits ?? '').trim());
    if (digits === undefined) return Number.NaN;
    const hundredths = percentIsFraction && (percent || percentAfter) ? 2 : 0;
    const power = Number(groups.exponent ?? 0) + (powerOfSuffix[groups.suffix ?? ''] ?? 0) - hundredths;
    const magnitude = finite(Number(`${digits}e${power}`));
    return sign === '-' || innerSign === '-' || open ? -magnitude : magnitude;
  };
}

const finite = (value: number): number => (Number.isFinite(value) ? value : Number.NaN);

/**
 * Normalizes an amount: a point as decimal mark, no thousands separators. Undefined if the marks contradict each other.
 * - A lone comma before exactly three digits separates thousands, unless only zeros precede it.
 * - With commas and points, the last mark is the decimal mark.
 * - Several points separate thousands.
 */
function plainDigits(text: string): string | undefined {
  const commas = text.split(',').length - 1;
  const points = text.split('.').length - 1;
  if (commas > 0 && points > 0) {
    const mark = text.lastIndexOf(',') > text.lastIndexOf('.') ? ',' : '.';
    return withDecimals(text, { mark, separators: mark === ',' ? '.' : ',' });
  }
  if (points === 1) return withDecimals(text, { mark: '.', separators: " '" });
  if (commas !== 1) return ungrouped(text, ` ',.`);
  const [before = '', after = ''] = text.split(',');
  const separatesThousands = /^\d{3}$/.test(after) && !/^0*$/.test(before);
  if (!separatesThousands) return withDecimals(text, { mark: ',', separators: " '" });
  const thousands = ungrouped(before, " '");
  return thousands && thousands + after;
}

function withDecimals(text: string, { mark, separators }: { mark: string; separators: string }): string | undefined {
  const [before = '', after = '', ...more] = text.split(mark);
  if (more.length > 0 || !/^\d*$/.test(after)) return undefined;
  const whole = before === '' ? '0' : ungrouped(before, separators);
  return whole && `${whole}.${after}`;
}

/** Joins groups of three digits. With commas, groups of two may precede the last, as in India ("12,34,567"). */
function ungrouped(text: string, separators: string): string | undefined {
  if (/^\d+$/.test(text)) return text;
  const separator = /\D/.exec(text)?.[0];
  if (separator === undefined || !separators.includes(separator)) return undefined;
  const [first = '', ...groups] = text.split(separator);
  const last = groups.pop() ?? '';
  const middle = separator === ',' ? /^\d{2,3}$/ : /^\d{3}$/;
  const inGroups = /^\d{1,3}$/.test(first) && groups.every((group) => middle.test(group)) && /^\d{3}$/.test(last);
  return inGroups ? [first, ...groups, last].join('') : undefined;
}

/** The ISO 4217 codes in use, and the latest that the euro replaced, in lower case. */
const codeList = `
aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd btn bwp byn bzd cad cdf
chf clp cny cop crc cuc cup cve czk djf dkk dop dzd egp ern etb eur fjd fkp gbp gel ghs gip gmd gnf gtq gyd
hkd hnl hrk htg huf idr ils inr iqd irr isk jmd jod jpy kes kgs khr kmf kpw krw kwd kyd kzt lak lbp lkr lrd
lsl lyd mad mdl mga mkd mmk mnt mop mru mur mvr mwk mxn myr mzn nad ngn nio nok npr nzd omr pab pen pgk php
pkr pln pyg qar ron rsd rub rwf sar sbd scr sdg sek sgd shp sle sll sos srd ssp stn svc syp szl thb tjs tmt
tnd top try ttd twd tzs uah ugx usd uyu uzs ved ves vnd vuv wst xaf xcd xcg xof xpf yer zar zmw zwg`;

/** One set for all parsers: a wide model has thousands of number features. */
const currencyCodes: ReadonlySet<string> = new Set(codeList.trim().split(/\s+/));
