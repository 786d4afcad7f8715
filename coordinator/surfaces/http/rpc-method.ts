/** Fault of the `method` of a JSON-RPC request; undefined for a valid one. */
export const methodFault = (method: unknown): string | undefined => {
  if (method === undefined || method === '') return 'method is missing'
  return typeof method === 'string' ? undefined : 'method must be a string'
}
