import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { mongodOptions } from '../../scripts/servers/mongo-server.js';
import { startOptions } from '../../scripts/servers/service-process.js';
import { projectFile } from '../../shared/process/project-root.js';

const units = readdirSync(projectFile('docs/systemd')).filter((name) => name.endsWith('.service'));
const files = ['package.json', 'docker-compose.yml', 'Dockerfile', ...units.map((name) => `docs/systemd/${name}`)];

/** Options and program of each start command in a file, as `--option dist/api/main.js`. */
function commandsIn(file: string): string[] {
  const lines = readFileSync(projectFile(file), 'utf8').split('\n');
  const commands = lines.filter((line) => /^ +command: |^ExecStart=|^CMD |"start:/.test(line));
  return commands.flatMap((line) => {
    const words = line.split(/[\s"',[\]]+/).map((word) => word.replace('node_modules/leadscore/', ''));
    const program = words.findIndex((word) => /^dist\/(api|worker)\/.*\.js$/.test(word));
    const node = words.findLastIndex((word, index) => index < program && word.endsWith('node'));
    return program < 0 ? [] : [words.slice(node + 1, program + 1).join(' ')];
  });
}

describe('start commands', () => {
  it('have the same options of Node in every file', () => {
    const [youngObjects] = startOptions.gateway ?? [];
    const expected = [
      `${youngObjects} dist/api/main.js`,
      `${youngObjects} dist/api/bulk/main.js`,
      'dist/api/console/main.js',
      'dist/worker/main.js',
    ];
    expect(startOptions).to.deep.equal({ gateway: [youngObjects], bulk: [youngObjects] });
    const found = Object.fromEntries(files.map((file) => [file, commandsIn(file)]));
    expect(found['package.json']).to.have.members(expected);
    expect(found['docker-compose.yml']).to.have.members(expected);
    expect(found.Dockerfile).to.eql(expected.slice(0, 1));
    expect(units.flatMap((name) => found[`docs/systemd/${name}`])).to.have.members(expected);
  });

  it('have the same options of mongod in docker-compose.yml and docs/operating.md', () => {
    const linesOf = (file: string) => readFileSync(projectFile(file), 'utf8').split('\n');
    const own = (line: string) => line.startsWith('--journal') || line.startsWith('--wiredTiger');
    const options = Object.values(mongodOptions);
    const ofCompose = linesOf('docker-compose.yml').map((line) => line.replace(/^ +- /, ''));
    expect(ofCompose.filter(own)).to.deep.equal(options);
    expect(linesOf('docs/operating.md').filter(own)).to.deep.equal(options);
  });
});
