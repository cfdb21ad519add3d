// The data of the page: JSON, and zlib streams of numbers (smark/src/html/columns.rs).

/**
 * The JSON of a block.
 * @param {string} id
 */
function blockJson(id) {
  return JSON.parse(document.getElementById(id)?.textContent ?? 'null');
}

/**
 * The bytes of a stream. Its block is emptied: the page needs it once.
 * @param {string} name
 * @returns {Promise<Uint8Array>}
 */
async function streamBytes(name) {
  const block = document.getElementById(`stream-${name}`);
  if (!block) return new Uint8Array(0);
  const text = atob(block.textContent ?? '');
  block.textContent = '';
  const deflated = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) deflated[at] = text.charCodeAt(at);
  const inflated = new Blob([deflated]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(inflated).arrayBuffer());
}

/**
 * The numbers of a stream: LEB128.
 * @template {Float64Array | Uint32Array} A
 * @param {string} name
 * @param {A} numbers gets them
 * @param {boolean} isSum whether each says how much it is larger than the one before
 * @returns {Promise<A>}
 */
async function streamNumbers(name, numbers, isSum = false) {
  const bytes = await streamBytes(name);
  let [at, last] = [0, 0];
  for (let index = 0; index < numbers.length; index++) {
    let [number, scale] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      number += (byte & 0x7f) * scale;
      if (byte < 0x80 || byte === undefined) break;
      scale *= 128;
    }
    last = isSum ? last + number : number;
    numbers[index] = last;
  }
  return numbers;
}

/**
 * The objects of a stream with a line for each.
 * @param {string} name
 * @returns {Promise<any[]>}
 */
async function streamLines(name) {
  const text = new TextDecoder().decode(await streamBytes(name));
  return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

/**
 * The first index of a sorted array whose number is not less than this one.
 * @param {ArrayLike<number>} numbers
 * @param {number} least
 * @param {number} [from]
 */
function lowerBound(numbers, least, from = 0) {
  let to = numbers.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (numbers[middle] < least) from = middle + 1;
    else to = middle;
  }
  return from;
}

