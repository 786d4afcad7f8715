import type { Budgets } from './budgets.ts'
import type { LimitsConfig } from './limits-config.ts'

/** Part of the memory that answers and bodies may take; the heap and the sockets need the rest. */
const MEMORY_PART = 0.75

/** Says which configured limits do not hold on this machine; undefined while all do. */
export const describeLimitTrouble = (
  limits: LimitsConfig,
  { connections }: Pick<Budgets, 'connections'>,
  memoryBytes: number,
): string | undefined => {
  const { total, per } = connections.limits
  const troubles: string[] = []
  if (total < limits.connections)
    troubles.push(
      `limits.connections is ${total} instead of ${limits.connections}, because the process may open too few files (LimitNOFILE)`,
    )
  if (per.address < limits.connections_per_address)
    troubles.push(
      `limits.connections_per_address is ${per.address} instead of ${limits.connections_per_address}, three quarters of all connections`,
    )
  const bytes = limits.held_bytes + limits.body_bytes
  if (bytes > memoryBytes * MEMORY_PART)
    troubles.push(
      `limits.held_bytes and limits.body_bytes are ${bytes} bytes together, but the process has ${memoryBytes} bytes of memory and may be ended before they are reached`,
    )
  return troubles.length === 0 ? undefined : troubles.join('; ')
}
