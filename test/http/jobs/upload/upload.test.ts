import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { eventually } from '../../../support/eventually.js';
import { RawConnection } from '../../../support/http/raw-connection.js';
import { refused } from '../../../support/http/score-reply.js';
import type { RunningService } from '../../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace } from '../../../support/service/workspace.js';
import { changeJob, inputCall, jobOf, newJob, patchHeaders, storedUpload, tus } from '../job-calls.js';

const megabyte = 1024 * 1024;

describe('uploads of /v1/jobs/{job_id}/input', () => {
  let service: RunningService;
  let own: TestWorkspace;
  let jobId: string;

  onOwnWorkspace(async (fresh, running) => {
    [own, service] = [fresh, running];
    jobId = (await newJob(own)).job_id;
  });

  const head = async (): Promise<Headers> => {
    const reply = await inputCall(own, jobId, 'HEAD', { headers: tus });
    expect(reply.status).to.equal(200);
    return reply.headers;
  };
  const offset = async (): Promise<number> => Number((await head()).get('upload-offset'));
  const patch = (bytes: Uint8Array | undefined, from: number, length?: number) =>
    inputCall(own, jobId, 'PATCH', { bytes, headers: patchHeaders(from, length) });

  /** Sends the head of an upload and some of its bytes, and leaves the connection open. */
  async function begin(
    method: 'PUT' | 'PATCH',
    bytes: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<RawConnection> {
    const connection = await RawConnection.open(service.url());
    const all = { Host: 'test', Authorization: `Bearer ${own.live.secret}`, ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
    connection.send([`${method} /v1/jobs/${jobId}/input HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    connection.send(bytes);
    return connection;
  }

  describe('PUT', () => {
    it('stores a file of several parts as it was sent, and hands it to the reader', async () => {
      const file = randomBytes(3 * megabyte + 17);
      const job = jobOf(await inputCall(own, jobId, 'PUT', { bytes: file }));
      expect(job).to.include({ state: 'reading' });
      expect(job.input).to.include({ bytes_received: file.length, bytes: file.length });
      expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
      const headers = await head();
      expect(headers.get('upload-length')).to.equal(String(file.length));
      expect(headers.get('upload-offset')).to.equal(String(file.length));
    });

    it('stores a body in chunks with Content-Encoding: gzip, without inflating it', async () => {
      const connection = await begin('PUT', Buffer.alloc(0), {
        'Transfer-Encoding': 'chunked',
        'Content-Encoding': 'gzip',
      });
      connection.send('5\r\nabcde\r\n3\r\nfgh\r\n0\r\n\r\n');
      expect(jobOf(await connection.reply()).state).to.equal('reading');
      connection.destroy();
      expect((await storedUpload(service, jobId)).toString()).to.equal('abcdefgh');
    });

    it('replaces the bytes that arrived before', async () => {
      await patch(randomBytes(2 * megabyte), 0);
      const file = Buffer.from('a,b\n1,2\n');
      jobOf(await inputCall(own, jobId, 'PUT', { bytes: file }));
      expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
    });

    it('returns 400 for an empty file and keeps what arrived before', async () => {
      await patch(Buffer.from('abc'), 0);
      refused(await inputCall(own, jobId, 'PUT'), '400 bad_request');
      const connection = await begin('PUT', Buffer.from('0\r\n\r\n'), { 'Transfer-Encoding': 'chunked' });
      expect(refused(await connection.reply(), '400 bad_request').error.message).to.include('empty');
      connection.destroy();
      expect(await offset()).to.equal(3);
    });

    it('returns 400 for a Content-Length above five gibibytes before it reads the body', async () => {
      const connection = await begin('PUT', Buffer.alloc(0), { 'Content-Length': String(5 * 1024 ** 3 + 1) });
      const reply = await connection.reply();
      expect(refused(reply, '400 bad_request').error.message).to.include('larger than');
      connection.destroy();
    });

    it('returns 422 for another Content-Encoding', async () => {
      const headers = { 'content-encoding': 'br' };
      refused(await inputCall(own, jobId, 'PUT', { bytes: Buffer.from('a'), headers }), '422 bad_request');
    });

    it('returns 409 that names the state in every other state', async () => {
      for (const state of ['reading', 'running', 'paused', 'completed', 'canceled', 'failed'] as const) {
        await changeJob(service, jobId, { state });
        for (const method of ['PUT', 'PATCH'] as const) {
          const headers = method === 'PATCH' ? patchHeaders(0) : {};
          const reply = await inputCall(own, jobId, method, { bytes: Buffer.from('a'), headers });
          expect(refused(reply, '409 job_state_conflict').error.message).to.include(state);
        }
      }
    });

    it('returns 400 for a body in twenty thousand chunks of one byte', async () => {
      const connection = await begin('PUT', Buffer.alloc(0), { 'Transfer-Encoding': 'chunked' });
      connection.send('1\r\nx\r\n'.repeat(20_000));
      expect(refused(await connection.reply(), '400 bad_request').error.message).to.include('small chunks');
      connection.destroy();
    });
  });

  describe('a broken upload', () => {
    for (const cut of [1, 70_000, megabyte, megabyte + 1, 3 * megabyte - 1]) {
      it(`keeps the parts that arrived before a hang-up after ${cut} bytes, and takes the rest by PATCH`, async () => {
        const file = randomBytes(3 * megabyte);
        const connection = await begin('PUT', file.subarray(0, cut), { 'Content-Length': String(file.length) });
        const whole = cut - (cut % megabyte);
        await eventually(async () => expect(await offset()).to.equal(whole), 10_000);
        connection.destroy();
        // The rest is stored after the hang-up, unless this call is earlier. A client repeats both calls, too.
        await eventually(async () => {
          const from = await offset();
          expect(from).to.be.within(whole, cut);
          const reply = await patch(file.subarray(from), from, file.length);
          expect(reply.status, reply.text).to.equal(204);
          expect(reply.headers.get('upload-offset')).to.equal(String(file.length));
        }, 10_000);
        expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
        expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
      });
    }

    it('is stored once after five breaks of one upload', async function () {
      this.timeout(60_000);
      const file = randomBytes(8 * megabyte + 7);
      for (const cut of [megabyte, megabyte + 1, 1.5 * megabyte, megabyte + 70_000, 2 * megabyte - 1]) {
        // The rest of the upload before is perhaps stored meanwhile. Then this one gets 409, as a client would.
        await eventually(async () => {
          const from = await offset();
          const connection = await begin('PATCH', file.subarray(from, from + cut), {
            ...patchHeaders(from, file.length),
            'Content-Length': String(file.length - from),
          });
          try {
            await eventually(async () => expect(await offset()).to.be.at.least(from + megabyte), 3_000);
          } finally {
            connection.destroy();
          }
        }, 20_000);
        expect(await offset()).to.be.below(file.length);
      }
      await eventually(async () => {
        const from = await offset();
        expect((await patch(file.subarray(from), from, file.length)).status).to.equal(204);
      }, 10_000);
      expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
      expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
    });

    it('ends by HEAD when the gateway stored all bytes and ended before it stored that', async () => {
      await patch(Buffer.from('abc'), 0);
      await changeJob(service, jobId, { upload: { length: 3, bytes: 3 } });
      expect(await offset()).to.equal(3);
      expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
    });
  });

  describe('two uploads at once', () => {
    it('ends the earlier one with 409, and stores the later one alone', async () => {
      const earlier = await begin('PUT', randomBytes(megabyte), { 'Content-Length': String(2 * megabyte) });
      await eventually(async () => expect(await offset()).to.equal(megabyte), 10_000);
      const file = randomBytes(2 * megabyte + 5);
      const later = await begin('PUT', file.subarray(0, megabyte), { 'Content-Length': String(file.length) });
      await eventually(async () => {
        const job = jobOf(await own.call(`/v1/jobs/${jobId}`));
        expect(job.input.bytes).to.equal(file.length);
      }, 10_000);
      earlier.send(randomBytes(megabyte));
      refused(await earlier.reply(), '409 job_state_conflict');
      later.send(file.subarray(megabyte));
      expect(jobOf(await later.reply()).state).to.equal('reading');
      expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
      for (const connection of [earlier, later]) connection.destroy();
    });

    it('lets one of four PATCH calls of the same bytes succeed', async () => {
      const bytes = randomBytes(1_000);
      const replies = await Promise.all(Array.from({ length: 4 }, () => patch(bytes, 0)));
      expect(replies.filter(({ status }) => status === 204)).to.have.length(1);
      expect(replies.filter(({ status }) => status === 409)).to.have.length(3);
      expect((await storedUpload(service, jobId)).equals(bytes)).to.equal(true);
    });

    it('stores nothing after a cancellation', async () => {
      const connection = await begin('PUT', randomBytes(megabyte), { 'Content-Length': String(2 * megabyte) });
      await eventually(async () => expect(await offset()).to.equal(megabyte), 10_000);
      jobOf(await own.call(`/v1/jobs/${jobId}/cancel`, { method: 'POST' }));
      connection.send(randomBytes(megabyte));
      refused(await connection.reply(), '409 job_state_conflict');
      connection.destroy();
      await eventually(async () => expect(await storedUpload(service, jobId)).to.have.length(0));
    });
  });

  describe('PATCH', () => {
    it('takes the requests of a tus client that learns the length at the end', async () => {
      const file = randomBytes(2_500);
      const headers = await head();
      expect(headers.get('tus-resumable')).to.equal('1.0.0');
      expect(headers.get('upload-offset')).to.equal('0');
      expect(headers.get('upload-defer-length')).to.equal('1');
      expect(headers.get('cache-control')).to.equal('no-store');
      for (const from of [0, 1_000, 2_000]) {
        const bytes = file.subarray(from, from + 1_000);
        const isLast = from === 2_000;
        const reply = await patch(bytes, from, isLast ? file.length : undefined);
        expect(reply.status, reply.text).to.equal(204);
        expect(reply.headers.get('tus-resumable')).to.equal('1.0.0');
        expect(reply.headers.get('upload-offset')).to.equal(String(from + bytes.length));
      }
      expect(jobOf(await own.call(`/v1/jobs/${jobId}`)).state).to.equal('reading');
      expect((await storedUpload(service, jobId)).equals(file)).to.equal(true);
    });

    it('returns 409 for another offset, and changes nothing', async () => {
      await patch(Buffer.from('abc'), 0);
      for (const from of [0, 2, 4, 999_999_999_999]) {
        const reply = await patch(Buffer.from('x'), from);
        expect(refused(reply, '409 job_state_conflict').error.message).to.include('3');
      }
      expect((await storedUpload(service, jobId)).toString()).to.equal('abc');
    });

    it('returns 422 for broken headers', async () => {
      const good = patchHeaders(0);
      for (const broken of [
        { 'upload-offset': '' },
        { 'upload-offset': '-1' },
        { 'upload-offset': '1e3' },
        { 'upload-offset': '9'.repeat(40) },
        { 'upload-length': 'many' },
        { 'content-type': 'text/csv' },
      ]) {
        const reply = await inputCall(own, jobId, 'PATCH', {
          bytes: Buffer.from('x'),
          headers: { ...good, ...broken },
        });
        refused(reply, '422 bad_request');
      }
      expect(await offset()).to.equal(0);
    });

    it('returns 412 with the served versions for another version of tus', async () => {
      const headers = { ...patchHeaders(0), 'tus-resumable': '0.2.2' };
      const reply = await inputCall(own, jobId, 'PATCH', { bytes: Buffer.from('x'), headers });
      refused(reply, '412 upload_version_unsupported');
      expect(reply.headers.get('tus-version')).to.equal('1.0.0');
      expect((await inputCall(own, jobId, 'HEAD', { headers: { 'tus-resumable': '2.0.0' } })).status).to.equal(412);
    });

    it('returns 400 for lengths that lie, and stores nothing beyond them', async () => {
      for (const length of [0, 5 * 1024 ** 3 + 1])
        refused(await patch(Buffer.from('abc'), 0, length), '400 bad_request');
      refused(await patch(Buffer.from('abcd'), 0, 3), '400 bad_request');
      expect(await offset()).to.equal(0);
      expect((await patch(Buffer.from('abc'), 0, 5)).status).to.equal(204);
      refused(await patch(Buffer.from('d'), 3, 6), '400 bad_request');
      const connection = await begin('PATCH', Buffer.from('3\r\ndef\r\n'), {
        ...patchHeaders(3),
        'Transfer-Encoding': 'chunked',
      });
      refused(await connection.reply(), '400 bad_request');
      connection.destroy();
      expect(await offset()).to.equal(3);
      expect((await patch(Buffer.from('de'), 3)).status).to.equal(204);
      expect((await storedUpload(service, jobId)).toString()).to.equal('abcde');
    });

    it('answers OPTIONS with the version and the largest file', async () => {
      const reply = await inputCall(own, jobId, 'OPTIONS');
      expect(reply.status).to.equal(204);
      expect(reply.headers.get('tus-version')).to.equal('1.0.0');
      expect(reply.headers.get('tus-max-size')).to.equal(String(5 * 1024 ** 3));
    });
  });
});
