import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { projectFile } from '../shared/process/project-root.js';
import { leaveOut } from './support/leave-out.js';
import { runProgram } from './support/run-program.js';

const folder = projectFile('docs/systemd');
const names = readdirSync(folder);
const services = names.filter((name) => name.endsWith('.service'));
const contents = (name: string): string => readFileSync(join(folder, name), 'utf8');
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, group = '']) => group);

describe('the units of systemd', () => {
  it('start each program of the package', () => {
    const programs = services.flatMap((name) =>
      found(contents(name), /^ExecStart=\/usr\/bin\/node (?:--\S+ )*(\S+)$/gm),
    );
    expect(programs).to.have.members(
      ['api/main', 'api/bulk/main', 'api/console/main', 'worker/main'].map(
        (program) => `node_modules/leadscore/dist/${program}.js`,
      ),
    );
  });

  it('give KEY_PEPPER to gateways and consoles alone', () => {
    const withKeys = services.filter((name) => contents(name).includes('/etc/leadscore/keys.env'));
    expect(withKeys).to.have.members(['leadscore-gateway@.service', 'leadscore-console.service']);
  });

  it('wait longer for a stop than a process takes, and signal the main process alone', () => {
    for (const name of services)
      expect(contents(name), name).to.include('TimeoutStopSec=35\n').and.include('KillMode=mixed\n');
  });

  it('are all part of the target, which starts one of each kind', () => {
    const wanted = found(contents('leadscore.target'), /^Wants=(.*)$/gm).flatMap((line) => line.split(' '));
    expect(wanted.map((name) => name.replace(/@\d+/, '@'))).to.have.members(services);
    for (const name of services) expect(contents(name), name).to.include('PartOf=leadscore.target\n');
  });

  it('pass systemd-analyze verify, which refuses a wrong one', async function () {
    const directory = mkdtempSync(join(tmpdir(), 'leadscore-units-'));
    const verify = (...units: readonly string[]) =>
      runProgram('systemd-analyze', ['verify', ...units.map((unit) => join(directory, unit))], { limitMs: 25_000 });
    try {
      // The programs of a production machine need not be on this one.
      for (const name of names)
        writeFileSync(join(directory, name), contents(name).replaceAll(/\/usr\/bin\/(node|curl)/g, process.execPath));
      const instances = services.map((name) => name.replace('@.', '@8080.'));
      const result = await verify('leadscore.target', ...instances);
      if (result.output.includes('ENOENT')) leaveOut(this, 'there is no systemd-analyze', 'install systemd');
      expect(result).to.deep.equal({ exitCode: 0, output: '' });
      const wrong = contents('leadscore-bulk.service').replace('KillMode=mixed', 'KillMode=some');
      writeFileSync(join(directory, 'leadscore-bulk.service'), wrong);
      expect((await verify('leadscore-bulk.service')).output).to.include('kill mode');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
