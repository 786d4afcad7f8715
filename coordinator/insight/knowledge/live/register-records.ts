import { flows } from '../../registers/definitions/flows.ts'
import { services } from '../../registers/definitions/services.ts'
import type { RecordOf } from '../../registers/register.ts'
import type { Registers } from '../../registers/registers.ts'

const REGISTERS = { flows, services }
type RegisterName = keyof typeof REGISTERS

export type RegisterRecord<N extends RegisterName> = RecordOf<(typeof REGISTERS)[N]>

/** Records of one register that a graph takes in at most. */
const MOST_RECORDS = 2000
const RECORD_PAGE = 200

/** Records that the tenant keeps itself; those of the example organisation are left out. */
export const readOwnRecords = async <N extends RegisterName>(
  registers: Pick<Registers, 'page'>,
  name: N,
  tenantId: string,
  pause: () => Promise<void>,
): Promise<RegisterRecord<N>[]> => {
  const all: RegisterRecord<N>[] = []
  let after: string | undefined
  do {
    await pause()
    const page = { after, limit: RECORD_PAGE }
    const { records, next } = await registers.page(REGISTERS[name], { tenantId }, page)
    for (const { record, isExample } of records)
      if (!isExample) all.push(record as RegisterRecord<N>)
    after = next
  } while (after !== undefined && all.length < MOST_RECORDS)
  return all
}
