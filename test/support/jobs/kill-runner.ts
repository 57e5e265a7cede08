import type { RequestFate } from '../../../scripts/servers/fault-proxy.js';
import { laneQueueName } from '../../../shared/messages/score-job.js';
import { scriptDigest } from '../faults/script-digest.js';

/** A moment of a job's life at which its runner is killed: when it sends a request. */
export interface RunnerMoment {
  readonly title: string;
  readonly server: 'redis' | 'mongo';
  /** Text of the request. */
  readonly request: string;
  /** Whether the rows of the job's slices are stored: its upload is gzip. */
  readonly storesRows: boolean;
  /** Whether the server executes the request. */
  readonly fate: Extract<RequestFate, 'held' | 'reply-lost'>;
}

/** In BSON, the list of the states `done` and `settled`: only the settling of a slice sends it. */
const doneOrSettled = 'done\0\x021\0';
/** In BSON, the command that removes parts, with the length of the collection's name. */
const deleteOfUpload = 'delete\0\x0c\0\0\0job_uploads\0';

const requests = {
  'the write of rows': { server: 'mongo', request: '.0000000.input' },
  'the write of slices': { server: 'mongo', request: 'first_line' },
  'the end of reading': { server: 'mongo', request: 'started_at' },
  'the dispatch of a chunk': { server: 'redis', request: `}:${laneQueueName('bulk')}:` },
  'a reservation': { server: 'redis', request: scriptDigest('shared/quota/lua/reserve.lua') },
  'a record': { server: 'mongo', request: 'request_id' },
  'a commit': { server: 'mongo', request: 'commitTransaction' },
  'the settle of a call': { server: 'redis', request: scriptDigest('shared/quota/lua/settle.lua') },
  'the settling of a slice': { server: 'mongo', request: doneOrSettled },
  'the end of the prefix': { server: 'mongo', request: 'settled.slices' },
  'the removal of an upload': { server: 'mongo', request: deleteOfUpload },
  'the completion': { server: 'mongo', request: 'ended_at' },
} as const;

export type RunnerStep = keyof typeof requests;

export const runnerSteps = Object.keys(requests) as RunnerStep[];

/** The moment before a step, or after it and before the runner knows. */
export const momentOf = (step: RunnerStep, when: 'before' | 'after'): RunnerMoment => ({
  title: `${when} ${step}`,
  ...requests[step],
  storesRows: step === 'the write of rows',
  fate: when === 'before' ? 'held' : 'reply-lost',
});
