import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { projectFile } from '../../../shared/project-root.js';
import { ScoreDesk } from './score-desk.js';

describe('leadscore score, where its output cannot be written', () => {
  let desk: ScoreDesk;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
    await desk.writeRows('leads.csv', 4_000);
  });

  afterEach(() => desk.leave());

  /** Scores with files that may not grow beyond some blocks of 512 or 1024 bytes, as on a disk that is full. */
  async function scoreOnFullDisk(blocks: number): Promise<string> {
    const words = [process.execPath, projectFile('dist/scripts/cli/main.js'), ...desk.words('leads.csv')];
    const child = spawn('sh', ['-c', `ulimit -f ${blocks} && exec "$@"`, 'sh', ...words]);
    return text(child.stderr);
  }

  it('says so in words before anything is sent, with --restart as well', async () => {
    await mkdir(desk.file('folder.csv'));
    for (const [name, why] of [
      ['none/out.csv', 'there is no such folder'],
      ['leads.csv/out.csv', 'part of its path is a file'],
      ['folder.csv', 'it is a folder'],
    ] as const) {
      for (const more of [[], ['--restart']]) {
        const { exitCode, stderr } = await desk.score('leads.csv', '--out', desk.file(name), ...more);
        expect(exitCode, name).to.equal(1);
        expect(stderr).to.match(new RegExp(`^Error: .* cannot be written: ${why}\n$`));
      }
    }
    expect(desk.service.calls).to.deep.equal([]);
  });

  for (const [which, blocks] of [
    ['the first rows', 4],
    ['later rows', 90],
  ] as const) {
    it(`goes on when there is room again for ${which}, and counts nothing twice`, async () => {
      const said = await scoreOnFullDisk(blocks);
      expect(said).to.include('leads.scored.csv cannot be written: it may not grow any larger\n');
      const resumed = await desk.score('leads.csv');
      expect(resumed.exitCode, resumed.stderr).to.equal(0);
      await desk.expectAllRows('leads.scored.csv', 4_000);
      expect(desk.service.used).to.equal(4_000);
    });
  }
});
