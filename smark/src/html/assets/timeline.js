// The timeline: lanes with hits as ticks and intervals as slices, with the mouse and with keys.

class Timeline extends TimelineItems {
  /**
   * @param {any} data
   * @param {Ticks} ticks
   * @param {Slices} slices
   * @param {Map<number, any>} details the hits with arguments, by their numbers
   */
  constructor(data, ticks, slices, details) {
    super(data, ticks, slices, details);
    this.build();
  }

  build() {
    const button = (text, label, action) => element('button', { type: 'button', 'aria-label': label, title: label, click: action }, text);
    this.search = element('input', { type: 'search', id: 'search', placeholder: 'Marker or argument', autocomplete: 'off', 'aria-describedby': 'search-says' });
    this.searchSays = element('output', { id: 'search-says', for: 'search' });
    this.search.addEventListener('input', () => this.find(this.search.value));
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') this.nextFound(event.shiftKey ? -1 : 1);
      if (event.key === 'Escape') this.find((this.search.value = ''));
    });
    const bar = element(
      'div',
      { class: 'bar-of-tools', role: 'group', 'aria-label': 'Timeline tools' },
      button('+', 'Zoom in (+)', () => this.zoom(0.5)),
      button('−', 'Zoom out (-)', () => this.zoom(2)),
      button('◀', 'Earlier (left arrow)', () => this.pan(-0.25)),
      button('▶', 'Later (right arrow)', () => this.pan(0.25)),
      button('All', 'All: show everything (0)', () => this.show(this.whole)),
      element('label', { for: 'search' }, 'Search '),
      this.search,
      button('↑', 'Previous match (Shift+Enter)', () => this.nextFound(-1)),
      button('↓', 'Next match (Enter)', () => this.nextFound(1)),
      this.searchSays,
    );
    this.overview = element('canvas', { class: 'overview', 'aria-hidden': 'true' });
    this.canvas = element('canvas', { class: 'lanes', tabindex: '0', role: 'application', 'aria-roledescription': 'timeline', 'aria-label': 'Timeline of threads', 'aria-describedby': 'timeline-keys' });
    this.spacer = element('div', { class: 'spacer' });
    this.spacer.style.height = `${this.total}px`;
    this.scroller = element('div', { class: 'scroller' }, element('div', { class: 'sticky' }, this.canvas), this.spacer);
    const height = Math.min(this.total + 34, Math.max(260, Math.round(window.innerHeight * 0.6)));
    this.scroller.style.height = `${height}px`;
    this.canvas.style.height = `${height}px`;
    this.spacer.style.height = `${Math.max(0, this.total + 34 - height)}px`;
    this.tip = element('div', { class: 'tip', role: 'tooltip', hidden: true });
    this.status = element('p', { class: 'readout' });
    this.inspector = element('aside', { class: 'inspector', 'aria-labelledby': 'inspector-title' });
    this.inspect();
    const help = [
      ['+ −', 'zoom, as the wheel'],
      ['← →', 'move, as a drag'],
      ['↑ ↓', 'scroll the tracks'],
      ['0', 'everything'],
      ['. ,', 'next and previous hit of the track'],
      ['> <', 'next and previous slice'],
      ['] [', 'next and previous track'],
      ['Enter', 'zoom to what is selected'],
      ['Esc', 'select nothing'],
      ['Shift + drag', 'zoom to a range'],
    ];
    const keys = element('ul', { id: 'timeline-keys', class: 'keys', 'aria-label': 'Keys of the timeline' }, ...help.map(([key, text]) => element('li', {}, element('kbd', {}, key), ` ${text}`)));
    this.node = section(
      'timeline',
      'Timeline',
      this.limits(),
      bar,
      element('div', { class: 'with-inspector' }, element('div', { class: 'stage' }, this.overview, this.scroller, this.tip, this.status), this.inspector),
      keys,
    );
    this.redrawOverview = keepDrawn(this.overview, (context, width, height) => this.drawOverview(context, width, height));
    this.redrawLanes = keepDrawn(this.canvas, (context, width, height) => this.draw(context, width, height));
    this.listen();
  }

  /** What is not drawn. */
  limits() {
    const { ticks, slices, listed } = this.data;
    const parts = [];
    if (ticks.every > 1) parts.push(`One in ${count(ticks.every)} hits is a tick: ${count(ticks.shown)} of ${count(ticks.all)}. Counts and rates are of all.`);
    if (slices.shown < slices.all) parts.push(`The ${count(slices.shown)} longest of ${count(slices.all)} slices are drawn: those of ${duration(slices.shortest_ns)} and more.`);
    if (listed.every > 1) parts.push(`The arguments of one in ${count(listed.every)} hits are in this page, and those of the slowest intervals.`);
    return parts.length ? element('p', { class: 'quiet' }, parts.join(' ')) : null;
  }

  listen() {
    const { canvas, scroller, overview } = this;
    scroller.addEventListener('scroll', () => {
      this.scroll = scroller.scrollTop;
      this.redrawLanes();
    });
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault();
        const { left } = canvas.getBoundingClientRect();
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / 800);
        else this.zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) / 300), this.timeAt(event.clientX - left));
      },
      { passive: false },
    );
    /** @type {any} */
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      const box = canvas.getBoundingClientRect();
      drag = { x: event.clientX, y: event.clientY, view: this.view, scroll: scroller.scrollTop, isMoved: false, from: this.timeAt(event.clientX - box.left), isRange: event.shiftKey };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      const box = canvas.getBoundingClientRect();
      if (!drag) return this.hover(event.clientX - box.left, event.clientY - box.top);
      const [right, down] = [event.clientX - drag.x, event.clientY - drag.y];
      drag.isMoved ||= Math.hypot(right, down) > 4;
      if (!drag.isMoved || drag.isRange) return undefined;
      this.hideTip();
      const by = (-right / (box.width - this.gutter)) * (drag.view.to - drag.view.from);
      this.show({ from: drag.view.from + by, to: drag.view.to + by });
      scroller.scrollTop = drag.scroll - down;
      return undefined;
    });
    canvas.addEventListener('pointerup', (event) => {
      const box = canvas.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      if (drag?.isMoved && drag.isRange) {
        const to = this.timeAt(x);
        this.show({ from: Math.min(drag.from, to), to: Math.max(drag.from, to) });
      } else if (drag && !drag.isMoved) {
        this.select(this.itemAt(x, y));
      }
      drag = null;
    });
    canvas.addEventListener('pointercancel', () => (drag = null));
    canvas.addEventListener('pointerleave', () => this.hideTip());
    canvas.addEventListener('keydown', (event) => this.key(event));
    const jump = (event) => {
      if (!(event.buttons & 1)) return;
      const box = overview.getBoundingClientRect();
      const middle = this.whole.from + ((event.clientX - box.left) / box.width) * (this.whole.to - this.whole.from);
      const half = (this.view.to - this.view.from) / 2;
      this.show({ from: middle - half, to: middle + half });
    };
    overview.addEventListener('pointerdown', jump);
    overview.addEventListener('pointermove', jump);
    this.redraw();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      '+': () => this.zoom(0.5),
      '=': () => this.zoom(0.5),
      '-': () => this.zoom(2),
      0: () => this.show(this.whole),
      ArrowLeft: () => this.pan(event.shiftKey ? -1 : -0.2),
      ArrowRight: () => this.pan(event.shiftKey ? 1 : 0.2),
      ArrowUp: () => (this.scroller.scrollTop -= 40),
      ArrowDown: () => (this.scroller.scrollTop += 40),
      Home: () => this.show({ from: this.whole.from, to: this.whole.from + this.view.to - this.view.from }),
      End: () => this.show({ from: this.whole.to - this.view.to + this.view.from, to: this.whole.to }),
      '.': () => this.step('hit', 1),
      ',': () => this.step('hit', -1),
      '>': () => this.step('slice', 1),
      '<': () => this.step('slice', -1),
      ']': () => this.stepLane(1),
      '[': () => this.stepLane(-1),
      Enter: () => this.selected && this.zoomTo(this.selected),
      Escape: () => this.select(null),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  /** The hit or slice at a place of the canvas. */
  itemAt(x, y) {
    const below = y - 26 + this.scroll;
    const lane = y > 26 && x > this.gutter ? this.lanes.find((it) => below >= it.top && below < it.top + it.height && !it.isHead) : undefined;
    if (!lane) return null;
    const time = this.timeAt(x);
    const span = (this.view.to - this.view.from) / (this.canvas.clientWidth - this.gutter);
    const down = below - lane.top - (lane.ticks.length ? TICK_HEIGHT : 0);
    if (down < 0) {
      const next = lowerBound(lane.times, time);
      const near = [next - 1, next].filter((index) => index >= 0 && index < lane.times.length);
      near.sort((a, b) => Math.abs(lane.times[a] - time) - Math.abs(lane.times[b] - time));
      const index = near[0];
      return index !== undefined && Math.abs(lane.times[index] - time) <= 8 * span ? { kind: 'hit', at: lane.ticks[index], lane } : null;
    }
    const row = lane.rows[Math.floor(down / ROW_HEIGHT)];
    if (!row) return null;
    const index = lowerBound(row.ends, time - 2 * span);
    return index < row.begins.length && row.begins[index] <= time + 2 * span ? { kind: 'slice', at: row.slices[index], lane } : null;
  }

  hover(x, y) {
    const item = this.itemAt(x, y);
    if (!item) return this.hideTip();
    const lines = item.kind === 'hit' ? this.hitLines(item.at) : this.sliceLines(item.at);
    this.tip.replaceChildren(...lines.map((line, at) => element(at === 0 ? 'strong' : 'span', {}, line)));
    this.tip.hidden = false;
    const room = this.node.querySelector('.stage').clientWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, room - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${y + this.overview.offsetHeight + 26}px`;
    return undefined;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  /** Selects an item, or nothing. @param {any} item */
  select(item, isSpoken = true) {
    this.selected = item;
    this.inspect();
    if (item && isSpoken) announce((item.kind === 'hit' ? this.hitLines(item.at) : this.sliceLines(item.at)).join(', '));
    this.redraw();
  }

  /** Selects the next item of the lane. */
  step(kind, direction) {
    const lane = this.selected?.lane ?? this.lanes.find((it) => (kind === 'hit' ? it.ticks.length : it.rows.length));
    if (!lane) return;
    const now = this.selectedTime() ?? (direction > 0 ? this.view.from : this.view.to);
    let items;
    if (kind === 'hit') {
      const index = this.selected?.kind === 'hit' ? lane.ticks.indexOf(this.selected.at) + direction : lowerBound(lane.times, now) - (direction < 0 ? 1 : 0);
      items = [lane.ticks[index]];
    } else {
      // By their begins, over all rows.
      const all = lane.rows.flatMap((row) => Array.from(row.slices)).sort((a, b) => a - b);
      const index = this.selected?.kind === 'slice' ? all.indexOf(this.selected.at) + direction : all.findIndex((at) => this.slices.begins[at] >= now);
      items = [all[index]];
    }
    if (items[0] === undefined) return announce('There is no other one on this track.');
    this.select({ kind, at: items[0], lane });
    this.reveal();
  }

  stepLane(direction) {
    const lanes = this.lanes.filter((lane) => lane.ticks.length || lane.rows.length);
    const at = this.selected ? lanes.indexOf(this.selected.lane) + direction : 0;
    const lane = lanes[Math.max(0, Math.min(lanes.length - 1, at))];
    if (!lane) return;
    const now = this.selectedTime() ?? this.view.from;
    const item = lane.ticks.length
      ? { kind: 'hit', at: lane.ticks[Math.min(lowerBound(lane.times, now), lane.ticks.length - 1)], lane }
      : { kind: 'slice', at: lane.rows[0].slices[0], lane };
    this.select(item);
    this.reveal();
  }

  /** Moves the view to what is selected. */
  reveal() {
    const time = this.selectedTime();
    if (time === null || !this.selected) return;
    const { from, to } = this.view;
    const half = (to - from) / 2;
    if (time < from || time > to) this.show({ from: time - half, to: time + half });
    const { lane } = this.selected;
    const inside = this.canvas.clientHeight - 26;
    if (lane.top < this.scroll || lane.top + lane.height > this.scroll + inside) this.scroller.scrollTop = Math.max(0, lane.top - inside / 3);
  }

  zoomTo(item) {
    const [begin, took] = item.kind === 'hit' ? [this.ticks.times[item.at], (this.view.to - this.view.from) / 8] : [this.slices.begins[item.at], this.slices.tooks[item.at]];
    const margin = Math.max(took * 0.25, LEAST_SPAN);
    this.show(item.kind === 'hit' ? { from: begin - took / 2, to: begin + took / 2 } : { from: begin - margin, to: begin + took + margin });
  }

  /** Shows a hit by its number, or the time of it. @param {number} number @param {number} time since the start */
  showHit(number, time) {
    const at = Math.round(number / this.ticks.every);
    const lane = this.lanes.find((it) => it.track === this.ticks.tracks[at]);
    if (number % this.ticks.every === 0 && lane) this.select({ kind: 'hit', at, lane });
    else this.select(null);
    const half = Math.min(this.view.to - this.view.from, (this.whole.to - this.whole.from) / 20) / 2;
    this.show({ from: time - half, to: time + half });
    this.reveal();
    this.node.scrollIntoView();
    this.canvas.focus({ preventScroll: true });
  }

  /** Shows a range of time, and where it is. */
  showRange(begin, took) {
    const margin = Math.max(took * 0.25, LEAST_SPAN);
    this.show({ from: begin - margin, to: begin + took + margin });
    this.node.scrollIntoView();
    this.canvas.focus({ preventScroll: true });
  }
}

