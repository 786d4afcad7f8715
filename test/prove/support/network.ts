/** The way of one coordinator to PostgreSQL, which can be cut without anybody being told. */
export interface Network {
  kind: 'network namespaces' | 'TCP proxies'
  /** Address of PostgreSQL on the loopback of a program. */
  storePort: number
  /** Command before that of a program which uses this way. */
  wrap: readonly string[]
  blackhole(): void
  heal(): void
  close(): Promise<void>
}
