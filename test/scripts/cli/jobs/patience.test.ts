import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import type { HttpSend } from '../../../../scripts/cli/calls/http-connections.js';
import { openInput } from '../../../../scripts/cli/files/input-file.js';
import { JobClient } from '../../../../scripts/cli/jobs/job-client.js';
import { JobScreen } from '../../../../scripts/cli/jobs/job-screen.js';
import { uploadInput } from '../../../../scripts/cli/jobs/upload-input.js';
import { waitForJob } from '../../../../scripts/cli/jobs/wait-for-job.js';

const minuteMs = 60_000;

/** A client whose waits only move its clock. @param answer JSON, or an error for a lost connection */
function clientOf(answer: (method: string, nowMs: number, body: Readable | undefined) => unknown) {
  let nowMs = 0;
  const waits: number[] = [];
  const send: HttpSend = async (_url, { method, body: sent }) => {
    nowMs += 1;
    const answered = answer(method, nowMs, sent);
    if (answered instanceof Error) throw answered;
    const body = Readable.from([Buffer.from(JSON.stringify(answered))]);
    return Object.assign(body, { statusCode: 200, headers: { 'upload-offset': '0' } }) as never;
  };
  const client = new JobClient({
    baseUrl: 'http://x',
    apiKey: 'k',
    send,
    signal: new AbortController().signal,
    now: () => nowMs,
    wait: async (durationMs) => {
      waits.push(durationMs);
      nowMs += durationMs;
    },
    onWait: () => undefined,
  });
  return { client, waits, now: () => nowMs };
}

const job = { job_id: 'job_1', state: 'running' };
const lost = new Error('reset');
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no error',
    (error: Error) => error.message,
  );

describe('the patience of job commands', () => {
  const wait = (client: JobClient) =>
    waitForJob('job_1', { client, screen: new JobScreen(process.stderr, true), download: undefined });

  it('a wait survives an absence of the service of 25 minutes, several times', async () => {
    const { client, now } = clientOf((_method, nowMs) => {
      const minute = nowMs / minuteMs;
      if ((minute > 10 && minute < 35) || (minute > 40 && minute < 65)) return lost;
      return minute > 70 ? { ...job, state: 'completed' } : job;
    });
    expect((await wait(client)).state).to.equal('completed');
    expect(now()).to.be.within(70 * minuteMs, 71 * minuteMs);
  });

  it('a wait ends when the service is absent for half an hour', async () => {
    const { client, now } = clientOf((_method, nowMs) => (nowMs > minuteMs ? lost : job));
    expect(await messageOf(wait(client))).to.include('The service has not answered for 30 minutes.');
    expect(now()).to.be.within(31 * minuteMs, 32 * minuteMs);
  });

  it('a wait polls a running job at most every two seconds, and a paused one every ten', async () => {
    const { client, waits } = clientOf((_method, nowMs) => {
      if (nowMs < minuteMs) return job;
      return { ...job, state: nowMs < 2 * minuteMs ? 'paused' : 'completed' };
    });
    await wait(client);
    expect(waits[0]).to.be.below(500);
    expect(Math.max(...waits.slice(0, 20))).to.equal(2_000);
    expect(Math.max(...waits)).to.equal(10_000);
  });

  it('a call ends 45 s after the first error, with growing delays', async () => {
    const { client, waits, now } = clientOf((_method, nowMs) => (nowMs > 1 ? lost : job));
    await client.job('job_1');
    expect(await messageOf(client.job('job_1'))).to.include('No answer from http://x: reset');
    expect(now()).to.be.within(45_000, 62_000);
    expect(waits.at(0)).to.be.below(501);
    expect(waits.at(-1)).to.be.above(7_000);
  });

  it('an upload goes on after a reset of the connection, which also breaks the reading of the file', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-patience-'));
    try {
      const path = join(directory, 'leads.csv');
      await writeFile(path, 'crm_id\n1\n');
      let puts = 0;
      const { client } = clientOf((method, _nowMs, body) => {
        puts += method === 'PUT' ? 1 : 0;
        if (method !== 'PUT' || puts > 1) return job;
        const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
        body?.once('error', () => undefined).destroy(reset);
        return reset;
      });
      await uploadInput({ client, job, input: await openInput(path), onBytes: () => undefined });
      expect(puts).to.equal(2);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it('an upload ends after five minutes without progress, and says how much is stored', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leadscore-patience-'));
    try {
      const path = join(directory, 'leads.csv');
      await writeFile(path, 'crm_id\n1\n');
      const { client, now } = clientOf((method) => (method === 'GET' ? job : lost));
      await client.job('job_1');
      const upload = { client, job, input: await openInput(path), onBytes: () => undefined };
      expect(await messageOf(uploadInput(upload))).to.include('no progress for 5 minutes; 0 % is stored');
      expect(now()).to.be.within(5 * minuteMs, 6 * minuteMs);
      expect((await stat(path)).size).to.equal(9);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
