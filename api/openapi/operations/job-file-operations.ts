import type { ErrorName } from '../../../shared/contract/errors.js';
import { jobSchema } from '../../schemas/job.js';
import { headers, optional, parameters, readHeaders } from '../components.js';
import { errorResponses } from '../error-responses.js';
import { jsonReply } from '../examples.js';
import type { Header, MediaType, Operation, PathItem, Response } from '../openapi-types.js';

const tags = ['Bulk jobs'];
const errorsOf = (names: readonly ErrorName[], docsUrl: string, further?: Record<string, Header>) =>
  errorResponses(['refusedRequest', 'invalidApiKey', ...names, 'rateLimited', 'internalError'], {
    docsUrl,
    ...(further === undefined ? {} : { headers: further }),
  });

/** Replies to HEAD have no body. */
const withoutBodies = (responses: Record<string, Response>): Record<string, Response> =>
  Object.fromEntries(
    Object.entries(responses).map(([status, { content: _content, ...response }]) => [status, response]),
  );

const example = (value: string) => ({ rows: { summary: 'Some rows', value } });
const bytes = (description: string) => ({ schema: { type: 'string', format: 'binary', description } }) as const;
const tusHeaders = { 'Tus-Resumable': headers.tusResumable };
const uploadErrors = ['notFound', 'jobStateConflict', 'unreadableRequest', 'jobLimitExceeded'] as const;

/** The operations on `/v1/jobs/{job_id}/input`. */
export const inputOperations = (docsUrl: string): PathItem => ({
  put: {
    operationId: 'uploadInput',
    summary: 'Upload the file of a bulk job',
    description:
      'Takes the file as the body: CSV or JSON Lines in UTF-8, plain or compressed with gzip, at most 5 GiB. A form is ' +
      'refused. The file replaces the bytes that arrived before, and the job reads it. A gateway takes eight uploads at once, ' +
      'four of a workspace. An upload ends after 30 seconds without a byte. Bytes that arrived are kept: HEAD has their ' +
      'number, and PATCH sends the rest.',
    tags,
    parameters: [parameters.jobId, parameters.requestId],
    requestBody: {
      description: 'The file.',
      required: true,
      content: {
        'application/octet-stream': {
          ...bytes('The bytes of the file.'),
          examples: example('Lead ID,Lead Source\nL-1,Referral\n'),
        },
      },
    },
    responses: {
      200: jsonReply({ description: 'The file is complete.', headers: readHeaders }, jobSchema, 'job'),
      ...errorsOf(uploadErrors, docsUrl),
    },
  },
  head: {
    operationId: 'getUploadOffset',
    summary: 'Read how much of the file has arrived',
    description: 'The HEAD request of tus 1.0: a client asks it after a break, and goes on with PATCH.',
    tags,
    parameters: [parameters.jobId, parameters.tusResumable, parameters.requestId],
    responses: {
      200: {
        description: 'The bytes that are stored.',
        headers: {
          ...readHeaders,
          ...tusHeaders,
          'Upload-Offset': headers.uploadOffset,
          ...optional({ 'Upload-Length': headers.uploadLength, 'Upload-Defer-Length': headers.uploadDeferLength }),
          'Cache-Control': headers.cacheControl,
        },
      },
      ...withoutBodies(
        errorsOf(['notFound', 'uploadVersionUnsupported'], docsUrl, {
          ...optional({ ...tusHeaders, 'Tus-Version': headers.tusVersion, 'Cache-Control': headers.cacheControl }),
        }),
      ),
    },
  },
  patch: {
    operationId: 'continueUpload',
    summary: 'Upload more of the file',
    description:
      'The PATCH request of tus 1.0: adds bytes at the end of what is stored. The file is complete when `Upload-Length` ' +
      'bytes are stored. When two calls upload at once, the later one goes on. Any client of tus works with the address of the ' +
      'input as its `uploadUrl`, for a job that was created with `input.bytes`. A client that cannot send PATCH sends POST ' +
      'with `X-HTTP-Method-Override: PATCH`.',
    tags,
    parameters: [
      ...[parameters.jobId, parameters.tusResumable, parameters.uploadOffset, parameters.uploadLength],
      parameters.requestId,
    ],
    requestBody: {
      description: 'Bytes of the file from `Upload-Offset`.',
      required: true,
      content: {
        'application/offset+octet-stream': { ...bytes('Bytes of the file.'), examples: example('L-2,Webinar\n') },
      },
    },
    responses: {
      204: {
        description: 'The bytes are stored.',
        headers: { ...readHeaders, ...tusHeaders, 'Upload-Offset': headers.uploadOffset },
      },
      ...errorsOf([...uploadErrors, 'uploadVersionUnsupported'], docsUrl, {
        ...optional(tusHeaders),
        ...optional({ 'Tus-Version': headers.tusVersion }),
      }),
    },
  },
  options: {
    operationId: 'getUploadOptions',
    summary: 'Read what uploads are served',
    description: 'The OPTIONS request of tus 1.0.',
    tags,
    parameters: [parameters.jobId, parameters.requestId],
    responses: {
      204: {
        description: 'The served version of tus, and the largest file.',
        headers: {
          ...readHeaders,
          ...tusHeaders,
          'Tus-Version': headers.tusVersion,
          'Tus-Max-Size': headers.tusMaxSize,
        },
      },
      ...errorsOf([], docsUrl),
    },
  },
});

const files = {
  results: {
    operationId: 'getResults',
    summary: 'Download the results of a bulk job',
    description:
      'One line for each row of the file, in order, as far as the job has come. A row that could not be scored has an `error`.',
  },
  errors: {
    operationId: 'getErrors',
    summary: 'Download the failed rows of a bulk job',
    description:
      'One line for each row that could not be scored, in order, as far as the job has come. In a CSV, `surplus` is the ' +
      'text of a row behind its last column. It is empty without `include_input`.',
  },
} as const;

const media: Readonly<Record<string, MediaType>> = {
  'text/csv': {
    schema: { type: 'string', description: 'A header and lines.' },
    examples: example('Lead ID,score,error\nL-1,87,\n'),
  },
  'application/x-ndjson': {
    schema: { type: 'string', description: 'An object in each line.' },
    examples: example('{"row":1,"crm_id":"L-1","score":87}\n'),
  },
  'application/gzip': {
    ...bytes('The file in gzip members.'),
    examples: example('...'),
  },
};

/** `GET /v1/jobs/{job_id}/results` and `/errors`. */
export function jobFileOperation(kind: keyof typeof files, docsUrl: string): Operation {
  const { operationId, summary, description } = files[kind];
  const fileHeaders = {
    ...readHeaders,
    'Accept-Ranges': headers.acceptRanges,
    'Cache-Control': headers.cacheControl,
    ...optional({ ETag: headers.etag }),
  };
  const { 416: beyond, ...errors } = errorsOf(
    ['notFound', 'rangeNotSatisfiable', 'unreadableRequest', 'jobLimitExceeded'],
    docsUrl,
  );
  return {
    operationId,
    summary,
    description:
      `${description} The file only grows, so a download can go on with a \`Range\`, also while the job runs. Once the job has ` +
      'ended it has an ETag, which an erasure changes. A workspace may have eight downloads at once at a gateway.',
    tags,
    parameters: [parameters.jobId, parameters.compression, parameters.range, parameters.ifRange, parameters.requestId],
    responses: {
      200: { description: 'The whole file.', headers: fileHeaders, content: media },
      206: {
        description: 'The range.',
        headers: { ...fileHeaders, 'Content-Range': headers.contentRange },
        content: media,
      },
      ...errors,
      ...(beyond && { 416: { ...beyond, headers: { ...beyond.headers, 'Content-Range': headers.contentRange } } }),
    },
  };
}
