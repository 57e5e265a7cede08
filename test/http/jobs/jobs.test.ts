import { expect } from 'chai';
import { idsOfJob, type JobState, jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { refused } from '../../support/http/score-reply.js';
import type { RunningService } from '../../support/service/service.js';
import { onOwnWorkspace, type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { changeJob, inputCall, type JobBody, jobOf, newJob, patchHeaders, settleSlices } from './job-calls.js';

interface JobList {
  readonly jobs: readonly JobBody[];
  readonly next_cursor?: string;
}

const dayMs = 24 * 60 * 60 * 1_000;

describe('/v1/jobs', () => {
  let service: RunningService;
  let own: TestWorkspace;

  onOwnWorkspace((fresh, running) => {
    [own, service] = [fresh, running];
  });

  const command = (jobId: string, name: string) => own.call(`/v1/jobs/${jobId}/${name}`, { method: 'POST' });
  const read = async (jobId: string): Promise<JobBody> => jobOf(await own.call(`/v1/jobs/${jobId}`));
  const list = async (query = '', key = own.live): Promise<JobList> => {
    const { status, text } = await own.call(`/v1/jobs${query}`, { key });
    expect(status, text).to.equal(200);
    return JSON.parse(text) as JobList;
  };
  const createWith = (idempotencyKey: string, body: object = {}, key = own.live) =>
    own.call('/v1/jobs', {
      key,
      body: { model_id: own.model._id, ...body },
      headers: { 'idempotency-key': idempotencyKey },
    });

  describe('POST', () => {
    it('creates a job with the defaults, and says where it is', async () => {
      const reply = await own.call('/v1/jobs', { body: { model_id: own.model._id } });
      const job = jobOf(reply, 201);
      expect(reply.headers.get('location')).to.equal(`/v1/jobs/${job.job_id}`);
      expect(job).to.deep.include({
        state: 'awaiting_upload',
        model_id: own.model._id,
        model_version: own.model.version,
        input: { format: 'csv', bytes_received: 0 },
        output: { format: 'csv', include_input: true },
        explain: false,
        stop_at: 'limit',
        max_errors: 10_000,
        previous: true,
        strict: false,
      });
      expect(job.usage.limit).to.equal(10_000);
      expect(job.validation.state).to.equal('too_early_to_grade');
      expect(await read(job.job_id)).to.deep.equal(job);
    });

    it('returns 422 for members of other types or values', async () => {
      for (const body of [
        { model_id: 7 },
        { input: 'csv' },
        { input: { format: 'parquet' } },
        { input: { crm_id_field: '' } },
        { input: { crm_id_field: '\0' } },
        { input: { bytes: 0 } },
        { input: { bytes: 1.5 } },
        { input: { bytes: '7' } },
        { input: { bytes: 5 * 1024 ** 3 + 1 } },
        { output: { include_input: 'yes' } },
        { explain: 1 },
        { stop_at: 'never' },
        { max_errors: -1 },
        { max_errors: 1.5 },
        { max_errors: 1e9 },
        { previous: null },
      ])
        refused(await own.call('/v1/jobs', { body: { model_id: own.model._id, ...body } }), '422 bad_request');
    });

    it('returns 422 for a member that is not known, and names it with the nearest one', async () => {
      for (const [body, message] of [
        [{ explian: true }, 'explian is not known. Perhaps explain is meant.'],
        [{ crm_id_field: 'Lead ID' }, 'crm_id_field is not known. Perhaps input.crm_id_field is meant.'],
        [{ input: { crmIdField: 'Lead ID' } }, 'input.crmIdField is not known. Perhaps input.crm_id_field is meant.'],
        [
          { output: { url: 'x' } },
          'output.url is not known. Known: model_id, input.source, input.sent_within_days, input.max_rows, input.format, input.crm_id_field, input.bytes, input.name, input.sha256, output.include_input, explain, stop_at, max_errors, previous, strict.',
        ],
      ] as const) {
        const reply = await own.call('/v1/jobs', { body: { model_id: own.model._id, ...body } });
        refused(reply, '422 bad_request');
        expect(reply.text).to.include(JSON.stringify(message).slice(1, -1));
      }
    });

    it('returns the same job for the same Idempotency-Key, for as long as the job exists', async () => {
      const first = jobOf(await createWith('k'), 201);
      await changeJob(service, first.job_id, { state: 'completed' });
      const again = await createWith('k');
      expect(again.headers.get('idempotent-replayed')).to.equal('true');
      expect(again.headers.get('location')).to.equal(`/v1/jobs/${first.job_id}`);
      expect(jobOf(again, 201)).to.include({ job_id: first.job_id, state: 'completed' });
      refused(await createWith('k', { explain: true }), '422 bad_request');
      expect(jobOf(await createWith('k', {}, own.test), 201).job_id).to.not.equal(first.job_id);
      expect((await own.call(`/v1/jobs/${first.job_id}`, { method: 'DELETE' })).status).to.equal(204);
      expect(jobOf(await createWith('k'), 201).job_id).to.not.equal(first.job_id);
    });

    it('creates one job for ten calls at once with one Idempotency-Key', async () => {
      const replies = await Promise.all(Array.from({ length: 10 }, () => createWith('at once')));
      const ids = new Set(replies.map((reply) => jobOf(reply, 201).job_id));
      expect(ids).to.have.length(1);
      expect((await list()).jobs).to.have.length(1);
    });

    it('creates exactly the allowed number of unfinished jobs, also at once at two gateways', async () => {
      const body = { model_id: own.model._id };
      const replies = await Promise.all(Array.from({ length: 30 }, () => own.call('/v1/jobs', { body })));
      const created = replies.filter(({ status }) => status === 201);
      expect(created).to.have.length(jobLimits.unfinishedJobs);
      for (const reply of replies.filter(({ status }) => status !== 201)) refused(reply, '429 job_limit_exceeded');
      const [first] = created.map((reply) => jobOf(reply, 201).job_id);
      jobOf(await command(first ?? '', 'cancel'));
      await newJob(own);
    });
  });

  describe('GET', () => {
    it('lists jobs newest first, in pages', async () => {
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) ids.push((await newJob(own)).job_id);
      const seen: string[] = [];
      let query = '?limit=2';
      for (;;) {
        const { jobs, next_cursor: cursor } = await list(query);
        seen.push(...jobs.map(({ job_id: id }) => id));
        if (cursor === undefined) break;
        query = `?limit=2&cursor=${cursor}`;
      }
      expect(seen).to.deep.equal(ids.toReversed());
    });

    it('reports progress, pauses and failures', async () => {
      const { job_id: id } = await newJob(own);
      await settleSlices(service, id, [{ results: '1\n', errors: '' }]);
      const { progress } = await read(id);
      expect(progress).to.include({ rows: 100, scored: 1, failed: 0, empty: 0 });
      expect(progress.rows_per_second).to.be.above(0);
      expect(progress.seconds_left).to.be.above(0);
      await changeJob(service, id, {
        state: 'paused',
        pause: { reason: 'quota_exceeded', message: 'The month is full.', resume_at: new Date(0) },
      });
      expect((await read(id)).pause).to.deep.include({
        reason: 'quota_exceeded',
        resumes_at: new Date(0).toISOString(),
      });
      await changeJob(service, id, { state: 'failed', failure: { message: 'No header.', line: 1 } });
      expect(await read(id)).to.deep.include({ error: { message: 'No header.', line: 1 } });
    });
  });

  describe('commands', () => {
    const allowed: Readonly<Record<string, readonly JobState[]>> = {
      pause: ['running', 'paused'],
      resume: ['paused', 'running'],
      cancel: ['awaiting_upload', 'reading', 'running', 'paused', 'canceled'],
    };
    const after: Readonly<Record<string, JobState>> = { pause: 'paused', resume: 'running', cancel: 'canceled' };
    const states = [
      ...(['awaiting_upload', 'reading', 'running', 'paused'] as const),
      ...(['completed', 'canceled', 'failed'] as const),
    ];

    for (const name of ['pause', 'resume', 'cancel']) {
      it(`${name} changes jobs in the states that allow it, twice with the same reply, and no others`, async () => {
        for (const state of states) {
          const { job_id: id } = await newJob(own);
          await changeJob(service, id, { state });
          const reply = await command(id, name);
          if (!allowed[name]?.includes(state)) {
            expect(refused(reply, '409 job_state_conflict').error.message).to.include(state);
            expect((await read(id)).state).to.equal(state);
            continue;
          }
          const job = jobOf(reply);
          expect(job.state).to.equal(after[name]);
          expect(jobOf(await command(id, name)).state).to.equal(after[name]);
        }
      });
    }

    it('pause replaces a pause that would end by itself, and resume ends it', async () => {
      const { job_id: id } = await newJob(own);
      const pause = { reason: 'quota_exceeded', message: 'The month is full.', resume_at: new Date() } as const;
      await changeJob(service, id, { state: 'paused', pause });
      expect(jobOf(await command(id, 'pause')).pause).to.deep.include({ reason: 'requested' });
      expect(jobOf(await command(id, 'resume')).pause).to.equal(undefined);
    });

    it('cancel keeps the results for the days of retention', async () => {
      const { job_id: id } = await newJob(own);
      const { expires_at: at } = jobOf(await command(id, 'cancel'));
      const days = (Date.parse(at) - service.clock.now()) / dayMs;
      expect(days).to.be.within(6.9, 7.1);
    });

    it('DELETE removes an ended job with its uploads and slices, and refuses an unfinished one', async () => {
      const { job_id: id } = await newJob(own);
      await settleSlices(service, id, [{ results: '1\n', errors: '1\n' }]);
      refused(await own.call(`/v1/jobs/${id}`, { method: 'DELETE' }), '409 job_state_conflict');
      await changeJob(service, id, { state: 'completed' });
      expect((await own.call(`/v1/jobs/${id}`, { method: 'DELETE' })).status).to.equal(204);
      refused(await own.call(`/v1/jobs/${id}`), '404 not_found');
      for (const name of ['job_slices', 'job_blobs', 'job_uploads']) {
        const left = await service.stores.database
          .collection<{ _id: string }>(name)
          .countDocuments({ _id: idsOfJob(id) });
        expect(left, name).to.equal(0);
      }
    });
  });

  describe('isolation', () => {
    it('returns 404 in the same words for jobs of others, of the other kind of key, and for unknown ones', async () => {
      const other = await workspace(service);
      const foreign = (await newJob(other)).job_id;
      const ofTestKey = (await newJob(own, {}, own.test)).job_id;
      await settleSlices(service, foreign, [{ results: 'secret\n', errors: 'secret\n' }]);
      const messages = new Set<string>();
      for (const id of [foreign, ofTestKey, 'job_unknown', '__proto__', '%00', 'job_'.repeat(200)]) {
        for (const [method, rest] of [
          ...([
            ['GET', ''],
            ['DELETE', ''],
            ['GET', '/results'],
            ['GET', '/errors'],
          ] as const),
          ...([
            ['POST', '/pause'],
            ['POST', '/resume'],
            ['POST', '/cancel'],
            ['PUT', '/input'],
          ] as const),
          ['PATCH', '/input'] as const,
        ]) {
          const headers = method === 'PATCH' ? patchHeaders(0) : {};
          const reply = await own.call(`/v1/jobs/${id}${rest}`, { method, headers });
          messages.add(refused(reply, '404 not_found').error.message);
        }
        expect((await inputCall(own, id, 'HEAD')).status).to.equal(404);
      }
      expect(messages).to.have.length(1);
      expect((await list()).jobs).to.deep.equal([]);
      expect((await list('', own.test)).jobs.map(({ job_id: id }) => id)).to.deep.equal([ofTestKey]);
    });
  });
});
