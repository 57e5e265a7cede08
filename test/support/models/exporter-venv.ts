import { pythonVenv, type Venv } from '../python-venv.js';

/** Time limit of each of the two steps that make the environment. */
export const exporterInstallLimitMs = 180_000;

/** The environment of the exporter's tests, with every training library. */
export const exporterVenv = (): Promise<Venv> =>
  pythonVenv({
    name: 'export',
    requirementsFile: 'scripts/export/requirements.txt',
    minMinor: 10,
    pipOptions: ['--no-deps', '--no-compile', '--only-binary=:all:'],
    installLimitMs: exporterInstallLimitMs,
  });
