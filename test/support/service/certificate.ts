import { join } from 'node:path';
import { runProgram } from '../run-program.js';

/** The files of a certificate for 127.0.0.1 and of its key. It is self-signed, so it is its own CA certificate. */
export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

const limitMs = 30_000;

/**
 * Makes a certificate with `openssl`.
 * @returns undefined when `openssl` is missing
 */
export async function makeCertificate(directory: string): Promise<Certificate | undefined> {
  const certFile = join(directory, 'certificate.pem');
  const keyFile = join(directory, 'key.pem');
  const { exitCode } = await runProgram(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'],
      ...['-keyout', keyFile, '-out', certFile],
      ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'],
    ],
    { limitMs },
  );
  return exitCode === 0 ? { certFile, keyFile } : undefined;
}
