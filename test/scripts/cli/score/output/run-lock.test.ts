import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ScoreDesk } from '../score-desk.js';

describe('the output of leadscore score', () => {
  let desk: ScoreDesk;
  let output: string;
  let folder: string;

  beforeEach(async () => {
    desk = await ScoreDesk.open();
    output = desk.file('leads.scored.csv');
    folder = `${output}.resume`;
    await desk.writeRows('leads.csv', 2_500);
  });

  afterEach(() => desk.leave());

  /** Marks the folder as a run does, and returns the path of the mark. */
  async function mark(pid: number, host = encodeURIComponent(hostname())): Promise<string> {
    const path = join(folder, `run-${pid}-${randomUUID()}@${host}`);
    await mkdir(folder, { recursive: true });
    await writeFile(path, '');
    return path;
  }

  it('is refused to a second run while a first one writes it, also with --restart', async () => {
    let go = (): void => undefined;
    const held = new Promise<undefined>((resolve) => {
      go = () => resolve(undefined);
    });
    desk.service.answering = ({ records }) => (records.some(({ n }) => n === '1001') ? held : undefined);
    const first = desk.startScore('leads.csv', '--concurrency', '1');
    await desk.service.arrival(1_001);
    const sentence = `Another run writes ${output}: process ${first.process.pid}. Wait for its end, or name another output with --out.`;
    for (const more of [[], ['--restart']]) {
      const second = await desk.score('leads.csv', ...more);
      expect(second.exitCode).to.equal(1);
      expect(second.stderr).to.include(sentence);
    }
    const { stderr } = await desk.score('leads.csv', '--json');
    expect(JSON.parse(stderr).error.code).to.equal('output_in_use');
    go();
    expect((await first.ended).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 2_500);
    expect(desk.service.used).to.equal(2_500);
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('is taken over from a process that has ended', async () => {
    await mark(spawnSync(process.execPath, ['-e', '']).pid);
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
    await desk.expectAllRows('leads.scored.csv', 2_500);
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });

  it('is refused while a process of another host may write it, and the message names the file to remove', async () => {
    const path = await mark(1, 'elsewhere');
    const { exitCode, stderr } = await desk.score('leads.csv');
    expect(exitCode).to.equal(1);
    expect(stderr)
      .to.include(`Another run writes ${output}: process 1 on elsewhere.`)
      .and.include(`remove ${path} and`);
    await rm(path);
    expect((await desk.score('leads.csv')).exitCode).to.equal(0);
  });

  it('leaves no folder behind a run that is refused', async () => {
    await writeFile(output, 'x');
    expect((await desk.score('leads.csv')).stderr).to.include('already exists');
    expect(await desk.files()).to.have.members(['leads.csv', 'leads.scored.csv']);
  });
});
