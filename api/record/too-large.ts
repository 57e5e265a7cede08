import { ApiError } from '../../shared/errors.js';
import type { CallDocument } from '../../shared/store/call-documents.js';
import { documentBytes, mostDocumentBytes } from '../../shared/store/document-bytes.js';
import { rowOf } from '../../shared/store/prediction-slice.js';

/**
 * The bytes of a call's documents together.
 * @throws ApiError refusedRequest when one of them is larger than MongoDB takes
 */
export function bytesOfDocuments(
  documents: readonly CallDocument[],
  nameOf: (record: number) => string,
): number {
  let together = 0;
  for (const document of documents) {
    const bytes = documentBytes(document);
    if (bytes > mostDocumentBytes) throw tooLarge(document, { bytes, nameOf });
    together += bytes;
  }
  return together;
}

function tooLarge(
  { _id, fields = [] }: CallDocument,
  { bytes, nameOf }: { readonly bytes: number; readonly nameOf: (record: number) => string },
): ApiError {
  const first = rowOf(_id);
  const last = first + fields.length - 1;
  const records = last > first ? `${nameOf(first)} to ${nameOf(last)}` : nameOf(first);
  return new ApiError(
    'refusedRequest',
    `${records}: the fields that the model knows, with what is stored of them, come to ${mebibytes(bytes)} MiB; ` +
      `of up to a hundred records at most ${mebibytes(mostDocumentBytes)} MiB can be recorded. ` +
      'Send shorter fields. Nothing of the call was counted.',
  );
}

const mebibytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(2);
