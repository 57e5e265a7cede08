import type { Middleware } from 'koa';
import { ConvertedValues, valuesOf } from '../../../shared/admin/outcomes/converted-values.js';
import { ApiError } from '../../../shared/contract/errors.js';
import { InputFault } from '../../../shared/files/reading/input-fault.js';
import { declaredEncoding } from '../../request/content-type.js';
import { inUtf8 } from '../../request/windows-1252.js';
import { type FileOptionName, fileOptionNames } from '../../schemas/outcomes.js';
import { queryParameter, type ReadingDeps, receivingRoute } from '../reading.js';
import { type FileOptions, fileTimeoutMs, importFile } from './import-file.js';
import { type OutcomesDeps, receiveOutcomes } from './record-outcomes.js';

/**
 * `POST /v1/outcomes` with a CSV: as `leadscore outcomes import`. Each row is stored or reported. Above the limit of
 * the plan nothing of the call is stored.
 */
export function outcomesFileRoute(deps: ReadingDeps, outcomesDeps: OutcomesDeps): Middleware {
  return receivingRoute(
    { ...deps, timeoutMs: fileTimeoutMs },
    {
      window: 'outcomes',
      receive: async (context, reader) => {
        const options = fileOptions(context.querystring);
        const encoding = declaredEncoding(context);
        const call = await receiveOutcomes(context, reader, { ...outcomesDeps, timeoutMs: fileTimeoutMs });
        return { options, text: inUtf8(call.body, encoding), call };
      },
      answer: async (_context, { organisation, apiKey }, { options, text, call }) =>
        await importFile(
          { organisation, options, text, call, isTest: apiKey.kind === 'test' },
          deps.clock,
          outcomesDeps,
        ),
    },
  );
}

/** @throws ApiError unreadableRequest for options that are unknown, repeated or contradict each other */
export function fileOptions(querystring: string): FileOptions {
  const names = [...new URLSearchParams(querystring).keys()];
  const unknown = names.find((name) => !fileOptionNames.some((each) => each === name));
  if (unknown !== undefined)
    throw new ApiError(
      'unreadableRequest',
      `"${unknown.slice(0, 100)}" is no option of a file of outcomes: ${fileOptionNames.join(', ')}.`,
    );
  const option = (name: FileOptionName) => queryParameter({ querystring }, name) || undefined;
  const list = (name: FileOptionName) => {
    const text = option(name);
    return text === undefined ? undefined : valuesOf(text);
  };
  const isSet = (name: FileOptionName): boolean => {
    const text = option(name) ?? 'false';
    if (/^(?:true|1)$/i.test(text)) return true;
    if (/^(?:false|0)$/i.test(text)) return false;
    throw new ApiError('unreadableRequest', `${name} must be true or false.`);
  };
  try {
    return {
      columns: { crmId: option('crm_id'), converted: option('converted'), at: option('at') },
      values: new ConvertedValues({
        wonValues: list('won_values'),
        lostValues: list('lost_values'),
        othersLost: isSet('others_lost'),
        ignoredValues: list('ignored_values'),
      }),
      correctsDates: isSet('correct_dates'),
    };
  } catch (error) {
    throw error instanceof InputFault ? new ApiError('unreadableRequest', `${error.message}.`) : error;
  }
}
