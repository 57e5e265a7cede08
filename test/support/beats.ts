/**
 * Measures a duration in beats of a timer while `work` runs. A process without a CPU counts at most one beat in that
 * time. A limit in beats therefore does not depend on the load of the machine.
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
