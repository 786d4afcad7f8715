import { program } from '../../needs.ts'
import { COMMAND_LINE } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'
import { sizes } from '../../units.ts'

const sortByLoad = (list: unknown): Record<string, unknown>[] =>
  ((list ?? []) as Record<string, unknown>[]).toSorted(
    (a, b) => Number(b.cpu ?? 0) - Number(a.cpu ?? 0),
  )

export default defineHostProbe({
  id: 'processes',
  call: 'processes',
  description:
    'Every process, the busiest first: shares of processor and memory in percent, sizes in KiB, without its arguments.',
  shape: 'object',
  units: sizes('KiB', 'memVsz', 'memRss'),
  removed: COMMAND_LINE,
  needs: [program('ps')],
  arrange: answer => ({ ...answer, list: sortByLoad(answer.list) }),
})
