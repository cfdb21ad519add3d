// How long a page takes until it is shown, and how much memory it needs: measure.mjs PAGE.html...

import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { open, start } from './browser.mjs';

/** The largest proportional set size of the processes of a kind below this one, in MB. */
function memory(kind) {
  const lines = execFileSync('ps', ['-eo', 'pid,ppid,args'], { encoding: 'utf8' }).trim().split('\n').slice(1);
  const processes = new Map(lines.map((line) => line.trim().split(/\s+/)).map(([pid, parent, ...words]) => [pid, { parent, words: words.join(' ') }]));
  const isBelow = (pid) => pid === String(process.pid) || (processes.has(pid) && isBelow(processes.get(pid).parent));
  const size = (pid) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024;
    } catch {
      // It has ended.
      return 0;
    }
  };
  const pids = [...processes.keys()].filter((pid) => processes.get(pid).words.includes(`--type=${kind}`) && isBelow(pid));
  return Math.round(Math.max(...pids.map(size)));
}

for (const file of process.argv.slice(2)) {
  const times = [];
  let [largest, frames] = [0, []];
  for (let round = 0; round < 3; round++) {
    const browser = await start();
    const { page, problems, took } = await open(browser, file);
    if (problems.length) throw new Error(problems.join('\n'));
    times.push(took);
    largest = Math.max(largest, memory('renderer'));
    for (const key of ['+', '+', 'ArrowRight', '-', '0']) {
      const begin = Date.now();
      await page.locator('.lanes').press(key);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      frames.push(Date.now() - begin);
    }
    await browser.close();
  }
  const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
  const size = (statSync(file).size / 1e6).toFixed(1);
  console.log(`${file.split('/').at(-1)}: ${size} MB, shown after ${median(times)} ms, ${largest} MB, a step of the timeline ${median(frames)} ms`);
}
