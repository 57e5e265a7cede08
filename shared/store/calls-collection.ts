/**
 * The collection of scored calls. The first document of a call holds its ledger row (`LedgerRow`) and its
 * first hundred predictions (`PredictionSlice`). Each further hundred is a document without a ledger row. So
 * a call of up to a hundred records is written atomically without a transaction.
 */
export const callsCollection = 'calls';
