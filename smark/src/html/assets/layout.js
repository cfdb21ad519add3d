// Which hits and slices are on which lane of the timeline, and in which row.

/** The most rows of slices of a lane. What would be in further rows is in the last one. */
const MOST_ROWS = 32;

/**
 * @typedef {object} Ticks
 * @property {number} every of how many hits one is here; the number of a hit is its index times this
 * @property {Float64Array} times in ns since the start
 * @property {Uint32Array} tracks
 * @property {Uint32Array} markers the number of the series
 *
 * @typedef {object} Slices
 * @property {Float64Array} begins
 * @property {Float64Array} tooks
 * @property {Uint32Array} pairs
 * @property {Uint32Array} tracks
 * @property {Float64Array} firsts the number of the hit that begins it and 1, or 0
 * @property {Float64Array} lasts
 *
 * @typedef {object} Row slices that do not overlap
 * @property {Uint32Array} slices
 * @property {Float64Array} begins
 * @property {Float64Array} ends
 *
 * @typedef {object} Lane
 * @property {number} track
 * @property {string} label
 * @property {string} detail
 * @property {boolean} isHead whether it is the heading of a process
 * @property {Uint32Array} ticks
 * @property {Float64Array} times of its ticks
 * @property {Float64Array | null} found the times of the ticks that a search found
 * @property {Row[]} rows
 * @property {number} top
 * @property {number} height
 */

/**
 * The indices of items by their track, in their order.
 * @param {Uint32Array} tracks
 * @param {number} many
 */
function byTrack(tracks, many) {
  const starts = new Uint32Array(many + 1);
  for (const track of tracks) starts[track + 1]++;
  for (let track = 0; track < many; track++) starts[track + 1] += starts[track];
  const next = starts.slice();
  const indices = new Uint32Array(tracks.length);
  for (let at = 0; at < tracks.length; at++) indices[next[tracks[at]]++] = at;
  return (track) => indices.subarray(starts[track], starts[track + 1]);
}

/**
 * The rows of slices that are in the order of their begins. An inner slice is below the outer one.
 * @param {Uint32Array} indices
 * @param {Slices} slices
 * @returns {Row[]}
 */
function rowsOf(indices, slices) {
  /** @type {{ indices: number[], end: number }[]} */
  const rows = [];
  for (const at of indices) {
    const begin = slices.begins[at];
    let row = rows.find((other) => other.end <= begin);
    if (!row && rows.length < MOST_ROWS) rows.push((row = { indices: [], end: 0 }));
    row ??= rows[rows.length - 1];
    row.indices.push(at);
    row.end = Math.max(row.end, begin + slices.tooks[at]);
  }
  return rows.map((row) => ({
    slices: Uint32Array.from(row.indices),
    begins: Float64Array.from(row.indices, (at) => slices.begins[at]),
    ends: Float64Array.from(row.indices, (at) => slices.begins[at] + slices.tooks[at]),
  }));
}

const HEAD_HEIGHT = 24;
const TICK_HEIGHT = 18;
const ROW_HEIGHT = 20;
const LANE_GAP = 8;

/**
 * The lanes from top to bottom: for each process its threads, then its pairs, then its tasks.
 * @param {any} data
 * @param {Ticks} ticks
 * @param {Slices} slices
 * @returns {Lane[]}
 */
function lanesOf(data, ticks, slices) {
  const ticksOf = byTrack(ticks.tracks, data.tracks.length);
  const slicesOf = byTrack(slices.tracks, data.tracks.length);
  const kinds = { thread: 0, pair: 1, task: 2, others: 3 };
  const order = data.tracks.map((track, number) => ({ track, number }));
  const rank = ({ track }) => (track.kind === 'thread' ? (track.tid === track.pid ? -1 : track.tid) : track.kind === 'pair' ? track.pair : Number(track.task ?? 0));
  order.sort((a, b) => (a.track.pid ?? Infinity) - (b.track.pid ?? Infinity) || kinds[a.track.kind] - kinds[b.track.kind] || rank(a) - rank(b));
  const mainName = (pid) => data.tracks.find((track) => track.kind === 'thread' && track.pid === pid && track.tid === pid)?.name ?? data.tracks.find((track) => track.kind === 'thread' && track.pid === pid)?.name ?? '';
  /** @type {Lane[]} */
  const lanes = [];
  let process = null;
  const none = new Uint32Array(0);
  for (const { track, number } of order) {
    if (track.pid !== undefined && track.pid !== process) {
      process = track.pid;
      lanes.push({ track: -1, label: `${mainName(process)} ${process}`.trim(), detail: 'process', isHead: true, ticks: none, times: new Float64Array(0), found: null, rows: [], top: 0, height: HEAD_HEIGHT });
    }
    const [label, detail] = {
      thread: () => [track.name || `thread ${track.tid}`, `${track.tid}`],
      pair: () => [data.pairs[track.pair].name, 'pair'],
      task: () => [`task ${track.task}`, 'task'],
      others: () => ['all other tracks', ''],
    }[track.kind]();
    const [own, rows] = [ticksOf(number), rowsOf(slicesOf(number), slices)];
    if (!own.length && !rows.length) continue;
    const height = (own.length ? TICK_HEIGHT : 0) + rows.length * ROW_HEIGHT + LANE_GAP;
    lanes.push({ track: number, label, detail, isHead: false, ticks: own, times: Float64Array.from(own, (at) => ticks.times[at]), found: null, rows, top: 0, height });
  }
  let top = 0;
  for (const lane of lanes) {
    lane.top = top;
    top += lane.height;
  }
  return lanes;
}

