import { jobLimits } from '../../../shared/store/jobs/job-documents.js';
import { type HttpCall, type HttpReply, httpCall } from '../../support/http/http-call.js';
import { type TestWorkspace, workspace } from '../../support/service/workspace.js';
import { type HeldTransfers, holdDownloads, holdUploads } from '../jobs/held-transfers.js';
import { changeJob, newJob, patchHeaders, settleSlices, tus } from '../jobs/job-calls.js';
import { type Scene, usedUp, withHugeHeader } from './provoked-outcomes.js';
import { readingOutcomes } from './reading-outcomes.js';
import type { Outcomes } from './scoring-outcomes.js';

type State = Parameters<typeof changeJob>[2]['state'];

/** Sends a call on another job, in a state, each time. The rest of the path follows the job. */
const onJob =
  (own: TestWorkspace, rest: string, call: Omit<HttpCall, 'secret'>, state?: State) => async (): Promise<HttpReply> => {
    const { job_id: jobId } = await newJob(own);
    try {
      if (state !== undefined) await changeJob(own.service, jobId, { state });
      return await httpCall(`${own.service.url()}/v1/jobs/${jobId}${rest}`, { ...call, secret: own.live.secret });
    } finally {
      // A workspace may have a few unfinished jobs.
      await own.service.stores.database.collection<{ _id: string }>('jobs').deleteOne({ _id: jobId });
    }
  };

/** The replies of every endpoint of a job, besides those of its own. */
function common(
  scene: Scene,
  rest: string,
  call: Omit<HttpCall, 'secret'> & Required<Pick<HttpCall, 'method'>>,
): Outcomes {
  const { plain, usedUpKey, service } = scene;
  const path = `/v1/jobs/job_unknown${rest}`;
  const send = (secret: string) => () => httpCall(service.url() + path, { ...call, secret });
  return {
    ...readingOutcomes(scene, path, call.method),
    '429 rate_limited': [() => usedUp(send(usedUpKey.secret))],
    '404 not_found': [send(plain.live.secret)],
  };
}

/** Calls that provoke every reply of the endpoints of jobs, but for those of their files. */
export function jobOutcomes(scene: Scene): Readonly<Record<string, Outcomes>> {
  const { plain, service } = scene;
  const command = (name: string, good: State, bad: State): Outcomes => ({
    ...common(scene, `/${name}`, { method: 'POST' }),
    '200': [onJob(plain, `/${name}`, { method: 'POST' }, good)],
    '409 job_state_conflict': [onJob(plain, `/${name}`, { method: 'POST' }, bad)],
  });
  const list = (query: string) => () =>
    httpCall(`${service.url()}/v1/jobs${query}`, { method: 'GET', secret: plain.live.secret });
  return {
    createJob: creationOutcomes(scene),
    listJobs: {
      ...readingOutcomes(scene, '/v1/jobs'),
      '200': [list(''), list('?limit=1')],
      '422 bad_request': [list('?limit=0'), list('?cursor=no')],
    },
    getJob: { ...common(scene, '', { method: 'GET' }), '200': [onJob(plain, '', { method: 'GET' })] },
    pauseJob: command('pause', 'running', 'reading'),
    resumeJob: command('resume', 'paused', 'completed'),
    cancelJob: command('cancel', 'running', 'failed'),
    deleteJob: {
      ...common(scene, '', { method: 'DELETE' }),
      '204': [onJob(plain, '', { method: 'DELETE' }, 'canceled')],
      '409 job_state_conflict': [onJob(plain, '', { method: 'DELETE' })],
    },
  };
}

function creationOutcomes({
  service,
  plain,
  readOnly,
  suspended,
  free,
  blocked,
  disabledModel,
  usedUpKey,
  brokenKey,
}: Scene): Outcomes {
  const url = () => `${service.url()}/v1/jobs`;
  const create = (own: TestWorkspace, { model = own.model._id, secret = own.live.secret, key = '' } = {}) =>
    httpCall(url(), { secret, body: { model_id: model }, headers: key === '' ? {} : { 'idempotency-key': key } });
  const tooMany = async (): Promise<HttpReply> => {
    const own = await workspace(service);
    for (let job = 0; job < jobLimits.unfinishedJobs; job += 1) await newJob(own);
    return await create(own);
  };
  return {
    '201': [() => create(plain), () => create(plain, { key: 'a job' }), () => create(plain, { key: 'a job' })],
    '400 bad_request': [() => withHugeHeader(url(), 'POST')],
    '401 invalid_api_key': [() => httpCall(url(), {})],
    '402 workspace_suspended': [() => create(suspended)],
    '402 expired_read_only': [() => create(readOnly)],
    '403 api_disabled': [() => create(plain, { model: disabledModel._id })],
    '404 model_not_found': [() => create(plain, { model: blocked.model._id })],
    '409 deploy_blocked': [() => create(blocked)],
    '422 bad_request': [() => httpCall(url(), { secret: plain.live.secret, body: '{' })],
    '429 rate_limited': [() => usedUp(() => create(plain, { model: 'mdl_none', secret: usedUpKey.secret }))],
    '429 quota_exceeded': [() => create(free)],
    '429 job_limit_exceeded': [tooMany],
    '500 internal_error': [() => create(plain, { secret: brokenKey.secret })],
  };
}

/** Calls that provoke every reply of the endpoints of the files of jobs. */
export function jobFileOutcomes(scene: Scene): Readonly<Record<string, Outcomes>> {
  const { plain } = scene;
  const put = { method: 'PUT', body: 'a,b\n1,2\n', headers: { 'content-type': 'text/csv' } } as const;
  const patch = { method: 'PATCH', body: 'a,b\n', headers: patchHeaders(0) } as const;
  const head = { method: 'HEAD', headers: tus } as const;
  const old = { 'tus-resumable': '0.2.2' };
  const unsupported = { ...patch, headers: { ...patch.headers, ...old } };
  // The reply to OPTIONS is the same for each address.
  const { '404 not_found': _unknown, ...options } = common(scene, '/input', { method: 'OPTIONS' });
  return {
    uploadInput: {
      ...common(scene, '/input', put),
      '200': [onJob(plain, '/input', put)],
      '409 job_state_conflict': [onJob(plain, '/input', put, 'running')],
      '422 bad_request': [onJob(plain, '/input', { ...put, headers: { 'content-encoding': 'br' } })],
      '429 job_limit_exceeded': [() => whileHeld(scene, holdUploads, 4, '/input', put)],
    },
    getUploadOffset: statusesOnly({
      ...common(scene, '/input', head),
      '200': [onJob(plain, '/input', head), onJob(plain, '/input', { method: 'HEAD' }, 'canceled')],
      '412': [onJob(plain, '/input', { ...head, headers: old })],
    }),
    continueUpload: {
      ...common(scene, '/input', patch),
      '204': [onJob(plain, '/input', patch)],
      '409 job_state_conflict': [onJob(plain, '/input', { ...patch, headers: patchHeaders(7) })],
      '412 upload_version_unsupported': [onJob(plain, '/input', unsupported)],
      '422 bad_request': [onJob(plain, '/input', { ...patch, headers: tus })],
      '429 job_limit_exceeded': [() => whileHeld(scene, holdUploads, 4, '/input', patch)],
    },
    getUploadOptions: { ...options, '204': [onJob(plain, '/input', { method: 'OPTIONS' })] },
    getResults: fileOutcomes(scene, '/results'),
    getErrors: fileOutcomes(scene, '/errors'),
  };
}

function fileOutcomes(scene: Scene, rest: string): Outcomes {
  const { plain, service } = scene;
  const withRows =
    (query: string, headers: Record<string, string> = {}) =>
    async (): Promise<HttpReply> => {
      const { job_id: jobId } = await newJob(plain);
      await settleSlices(service, jobId, [{ results: '1,2\n', errors: '1,2,L,no\n' }]);
      await changeJob(service, jobId, { state: 'completed' });
      const url = `${service.url()}/v1/jobs/${jobId}${rest}${query}`;
      return await httpCall(url, { method: 'GET', secret: plain.live.secret, headers });
    };
  return {
    ...common(scene, rest, { method: 'GET' }),
    '200': [withRows(''), withRows('?compression=gzip'), onJob(plain, rest, { method: 'GET' })],
    '206': [withRows('', { range: 'bytes=1-2' })],
    '416 range_not_satisfiable': [withRows('', { range: 'bytes=999-' })],
    '422 bad_request': [withRows('?compression=zip'), withRows('?compression=')],
    '429 job_limit_exceeded': [() => whileHeld(scene, holdDownloads, 8, rest, { method: 'GET' })],
  };
}

/** Sends a call to the gateway at which its workspace holds as many transfers as it may. */
async function whileHeld(
  { service }: Scene,
  hold: (own: TestWorkspace, count: number) => Promise<HeldTransfers>,
  count: number,
  rest: string,
  call: Omit<HttpCall, 'secret'>,
): Promise<HttpReply> {
  const own = await workspace(service);
  const held = await hold(own, count);
  try {
    const { job_id: jobId } = await newJob(own);
    if (call.method === 'GET') await settleSlices(service, jobId, [{ results: '1\n', errors: '1\n' }]);
    return await httpCall(`${service.url(0)}/v1/jobs/${jobId}${rest}`, { ...call, secret: own.live.secret });
  } finally {
    await held.end();
  }
}

/** Replies to HEAD have no body, so no code. */
const statusesOnly = (outcomes: Outcomes): Outcomes =>
  Object.fromEntries(Object.entries(outcomes).map(([outcome, calls]) => [outcome.slice(0, 3), calls]));
