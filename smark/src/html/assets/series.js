// How markers and pairs look: a colour, a pattern of dashes and a sign each, so that none of them is needed alone.

const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [12, 6], [1, 4], [6, 2, 1, 2, 1, 2]];
const SIGNS = ['●', '■', '▲', '◆', '▼', '✚', '★', '○'];
const COLOURS = 8;

/** The colour of a series. @param {number} number */
function seriesColour(number) {
  return themeColour(`series-${number % COLOURS}`);
}

/** The dashes of its line. @param {number} number */
function seriesDash(number) {
  return DASHES[(number + Math.floor(number / COLOURS)) % DASHES.length];
}

/** Its sign. @param {number} number */
function seriesSign(number) {
  return SIGNS[(number + Math.floor(number / COLOURS)) % SIGNS.length];
}

/** A piece of its line. @param {number} number */
function lineSample(number) {
  const [space, colour] = ['http://www.w3.org/2000/svg', `var(--series-${number % COLOURS})`];
  const made = document.createElementNS(space, 'svg');
  const line = document.createElementNS(space, 'line');
  const attributes = (of, values) => Object.entries(values).forEach(([name, value]) => of.setAttribute(name, String(value)));
  attributes(made, { width: 34, height: 10, 'aria-hidden': 'true', class: 'line-sample' });
  attributes(line, { x1: 0, y1: 5, x2: 34, y2: 5, stroke: colour, 'stroke-width': 2.5, 'stroke-dasharray': seriesDash(number).join(' ') });
  made.append(line);
  return made;
}

/** A sign in its colour. @param {number} number */
function swatch(number) {
  return element('span', { class: `swatch series-${number % COLOURS}`, 'aria-hidden': 'true' }, seriesSign(number));
}

