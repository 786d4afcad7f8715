/** The way of one coordinator to PostgreSQL, which can be cut without anybody being told. */
export interface Network {
  kind: 'network namespaces' | 'TCP proxies'
  /** Where a program finds PostgreSQL on its loopback. */
  storePort: number
  /** Command before that of a program which uses this way. */
  wrap: readonly string[]
  blackhole(): void
  heal(): void
  close(): Promise<void>
}
