/** The columns that make a document large: up to two strings a record. */
interface TextColumns {
  readonly crm_ids?: readonly (string | null)[];
  readonly fields?: readonly (string | null)[];
}

const mebibyte = 1024 * 1024;
/** MongoDB's limit of a document or command is 16 MiB; 64 KiB are reserved because sizes are estimates. */
export const mostDocumentBytes = 16 * mebibyte - 64 * 1024;
/** Limit of a command with several documents: half of MongoDB's, because sizes are estimates. */
export const mostTogetherBytes = 8 * mebibyte;

/** Estimated bytes of a document without its columns. */
const documentOverhead = 1_024;
/** Estimated bytes of a record without its strings. */
const recordOverhead = 64;

/** Upper estimate of a document's BSON size, from the lengths of its strings. */
export function documentBytes(document: TextColumns): number {
  let bytes = documentOverhead;
  for (const text of document.fields ?? []) bytes += recordOverhead + Buffer.byteLength(text ?? '');
  for (const text of document.crm_ids ?? []) bytes += Buffer.byteLength(text ?? '');
  return bytes;
}

/** Splits documents into the fewest commands that respect the limit, in order. */
export function inCommands<Document extends TextColumns>(
  documents: readonly Document[],
): (readonly Document[])[] {
  if (documents.length <= 1) return [documents];
  const commands: Document[][] = [];
  let command: Document[] = [];
  let together = 0;
  for (const document of documents) {
    const bytes = documentBytes(document);
    together += bytes;
    if (command.length === 0 || together > mostTogetherBytes) {
      command = [];
      commands.push(command);
      together = bytes;
    }
    command.push(document);
  }
  return commands;
}
