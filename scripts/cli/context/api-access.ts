import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { OperatorConfig } from '../../../shared/config/config.js';
import { CliError, fileProblem, usageError } from './cli-error.js';

const keyDescription = 'API key, or @FILE to read it from a file';

/** Adds `--key` and `--url` to a command that calls the service. */
export function addAccessOptions(
  command: Command,
  { baseUrl, port }: OperatorConfig,
  { keyIsRequired = true }: { readonly keyIsRequired?: boolean } = {},
): Command {
  if (keyIsRequired) command.requiredOption('--key <key>', keyDescription);
  else command.option('--key <key>', keyDescription);
  return command.option('--url <url>', 'address of the service', baseUrl ?? `http://127.0.0.1:${port}`);
}

/**
 * The API key of `--key`: the key itself, or `@FILE` that contains it.
 * @throws CliError
 */
export async function readKey(given: string): Promise<string> {
  const key = given.startsWith('@') ? await readKeyFile(given.slice(1)) : given;
  if (key === '')
    throw usageError(given === '' ? '--key is empty' : `--key is empty: ${given.slice(1)} has no content`);
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw usageError('--key is not an API key: it contains spaces or other invalid characters');
}

async function readKeyFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    throw new CliError(`Cannot read the key file ${path}: ${fileProblem(error)}`, {
      code: 'bad_input',
      cause: error,
    });
  }
}

/** The address of the service without `/v1`. @throws CliError */
export function readUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/v1\/?$/, '');
  throw usageError(`--url must be an http or https URL such as http://127.0.0.1:8080, but is "${text}"`);
}
