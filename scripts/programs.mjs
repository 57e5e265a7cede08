/** The modules in which a process or a thread begins, as paths from the root. */
export const programs = [
  'api/main.js',
  'api/large-calls-thread.js',
  'api/bulk/main.js',
  'api/console/main.js',
  'worker/main.js',
  'worker/child.js',
  'worker/bundle-checks/check-process.js',
  'worker/drivers/reading-thread.js',
  'scripts/cli/main.js',
  'scripts/start.js',
].map((path) => `dist/${path}`);
