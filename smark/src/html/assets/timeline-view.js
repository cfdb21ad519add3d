// What the timeline shows: its lanes, the range of time, and what is selected.

/** The least time that is shown, in ns. */
const LEAST_SPAN = 50;

/**
 * @typedef {object} Item a hit or a slice
 * @property {'hit' | 'slice'} kind
 * @property {number} at its index among the ticks or the slices
 * @property {Lane} lane
 */

class TimelineView {
  /**
   * @param {any} data
   * @param {Ticks} ticks
   * @param {Slices} slices
   * @param {Map<number, any>} details the hits with arguments, by their numbers
   */
  constructor(data, ticks, slices, details) {
    Object.assign(this, { data, ticks, slices, details });
    this.lanes = lanesOf(data, ticks, slices);
    this.total = this.lanes.reduce((sum, lane) => sum + lane.height, 0);
    const first = data.about.first_ns ?? 0;
    const last = Math.max(data.about.last_ns, first + LEAST_SPAN);
    const margin = (last - first) * 0.01;
    this.whole = { from: Math.max(0, first - margin), to: last + margin };
    this.view = { ...this.whole };
    /** @type {Item | null} */
    this.selected = null;
    this.hovered = null;
    this.found = null;
    this.scroll = 0;
  }

  get gutter() {
    return this.canvas.clientWidth < 560 ? 96 : 190;
  }

  redraw() {
    this.redrawLanes();
    this.redrawOverview();
    const { from, to } = this.view;
    this.status.textContent = `${duration(to - from)} from ${moment(from)} after the start; ${counted(this.lanes.filter((lane) => !lane.isHead).length, 'track')}, ${counted(this.ticks.times.length, 'tick')}, ${counted(this.slices.begins.length, 'slice')}`;
  }

  /** Shows a range of time. @param {{ from: number, to: number }} range */
  show({ from, to }) {
    const span = Math.min(Math.max(to - from, LEAST_SPAN), this.whole.to - this.whole.from);
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - span / 2, this.whole.from), this.whole.to - span);
    this.view = { from: begin, to: begin + span };
    this.redraw();
  }

  /** @param {number} factor of the span @param {number} [around] a time */
  zoom(factor, around) {
    const { from, to } = this.view;
    const fixed = around ?? this.selectedTime() ?? (from + to) / 2;
    const at = fixed >= from && fixed <= to ? fixed : (from + to) / 2;
    const span = Math.min(Math.max((to - from) * factor, LEAST_SPAN), this.whole.to - this.whole.from);
    const share = (at - from) / (to - from);
    this.show({ from: at - share * span, to: at + (1 - share) * span });
  }

  /** @param {number} share of the span */
  pan(share) {
    const by = (this.view.to - this.view.from) * share;
    this.show({ from: this.view.from + by, to: this.view.to + by });
  }

  selectedTime() {
    if (!this.selected) return null;
    const { kind, at } = this.selected;
    return kind === 'hit' ? this.ticks.times[at] : this.slices.begins[at] + this.slices.tooks[at] / 2;
  }

  /** @param {number} x in the canvas */
  timeAt(x) {
    const { from, to } = this.view;
    return from + ((x - this.gutter) / (this.canvas.clientWidth - this.gutter)) * (to - from);
  }

  // What is said of an item.

  /** @param {number} number of the series */
  seriesName(number) {
    return this.data.markers[this.data.rates.series[number]]?.name ?? '';
  }

  /** @param {number} at */
  sliceName(at) {
    return this.data.pairs[this.slices.pairs[at]]?.name ?? 'poll';
  }

  hitLines(at) {
    const hit = this.details.get(at * this.ticks.every);
    return [this.seriesName(this.ticks.markers[at]), moment(this.ticks.times[at]), ...(hit ? [hit.text.slice(0, 300)] : ['Its arguments are not in this page.'])];
  }

  sliceLines(at) {
    const begin = this.details.get(this.slices.firsts[at] - 1);
    return [`${this.sliceName(at)} ${duration(this.slices.tooks[at])}`, moment(this.slices.begins[at]), ...(begin ? [begin.text.slice(0, 300)] : [])];
  }
}

