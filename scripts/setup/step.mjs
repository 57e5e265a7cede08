/** A problem that the reader can do something about; printed without a stack. */
export class SetupProblem extends Error {}

/**
 * Runs one step of the set-up and prints what it did, and how long that took when it took a while.
 * @param {string} name what the step provides, one word
 * @param {(say: (line: string) => void) => Promise<string>} work does it; `say` tells beforehand of what takes long;
 *   returns what is there now
 */
export async function step(name, work) {
  const say = (line) => console.error(`  ${name.padEnd(13)} ${line}`);
  const startMs = performance.now();
  const outcome = await work(say);
  const seconds = (performance.now() - startMs) / 1000;
  say(seconds < 1 ? outcome : `${outcome} (${seconds.toFixed(1)} s)`);
}
