// Numbers and times as text.

const wholeNumbers = new Intl.NumberFormat('en-US');

/**
 * A whole number with commas.
 * @param {number} number
 */
function count(number) {
  return wholeNumbers.format(number);
}

/**
 * A number and what it counts.
 * @param {number} number
 * @param {string} one
 * @param {string} [many]
 */
function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/**
 * A duration in ns with three digits and its unit.
 * @param {number} ns
 */
function duration(ns) {
  if (ns < 0) return `-${duration(-ns)}`;
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  const [value, unit] = ns < 999.5e3 ? [ns / 1e3, 'µs'] : ns < 999.5e6 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
  const digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

/**
 * A time since the start of the recording, exact to the ns.
 * @param {number} ns
 */
function moment(ns) {
  const seconds = Math.floor(ns / 1e9);
  const rest = String(Math.floor(ns % 1e9)).padStart(9, '0');
  return `${seconds}.${rest.slice(0, 3)} ${rest.slice(3, 6)} ${rest.slice(6)} s`;
}

/**
 * A rate per second.
 * @param {number} rate
 */
function perSecond(rate) {
  if (rate >= 1e6) return `${(rate / 1e6).toPrecision(3)} M/s`;
  if (rate >= 1e4) return `${(rate / 1e3).toPrecision(3)} k/s`;
  return rate >= 100 || Number.isInteger(rate) ? `${count(Math.round(rate))}/s` : `${rate.toPrecision(2)}/s`;
}

/**
 * A value of JSON as text: texts without quotes at the outermost level.
 * @param {unknown} value
 */
function valueText(value) {
  if (value === null || value === undefined) return '(null)';
  return typeof value === 'object' ? JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ') : String(value);
}

/**
 * The next larger step for an axis: 1, 2 or 5 times a power of ten.
 * @param {number} least
 */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}

