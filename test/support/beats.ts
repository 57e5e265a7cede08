/**
 * Counts the beats of a timer while `work` runs. Each beat is set when the one before has come, so that a process that was
 * held up by the machine counts one for all that time: what is compared with a count of beats does not depend on how much
 * of the machine the process gets.
 * @returns how many there were
 */
export async function beatsDuring(work: () => Promise<unknown>, everyMs = 50): Promise<number> {
  let beats = 0;
  const timer = setInterval(() => {
    beats += 1;
  }, everyMs);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  return beats;
}
