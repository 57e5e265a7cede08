import { writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { join } from 'node:path';

/**
 * Preloaded with `--import` into a profiled process. SIGUSR2 starts V8's CPU profiler; the next SIGUSR2 stops it and
 * writes `<pid>-<n>.cpuprofile` into the directory that the query of this module's URL names.
 */

const directory = new URL(import.meta.url).searchParams.get('directory') ?? '.';
const samplingIntervalUs = 250;
const session = new Session();
let profiles = 0;
let isRunning = false;

function write(error: Error | null, { profile }: Profiler.StopReturnType): void {
  if (error !== null) throw error;
  profiles += 1;
  writeFileSync(join(directory, `${process.pid}-${profiles}.cpuprofile`), JSON.stringify(profile));
}

process.on('SIGUSR2', () => {
  if (isRunning) session.post('Profiler.stop', write);
  else session.post('Profiler.start');
  isRunning = !isRunning;
});

session.connect();
session.post('Profiler.enable');
session.post('Profiler.setSamplingInterval', { interval: samplingIntervalUs });
