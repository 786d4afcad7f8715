/** Why the `method` of a JSON-RPC request cannot be used; undefined for a usable one. */
export const methodFault = (method: unknown): string | undefined => {
  if (method === undefined || method === '') return 'method is missing'
  return typeof method === 'string' ? undefined : 'method must be a string'
}
