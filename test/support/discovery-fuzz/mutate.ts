import type { Random } from '../random.ts'

/** A copy with a few bytes changed, removed or added, or cut off; sometimes unchanged. */
export const mutate = (bytes: Buffer, random: Random): Buffer => {
  let changed = Buffer.from(bytes)
  const changes = random.randomBelow(5)
  for (let change = 0; change < changes && changed.length > 0; change++) {
    const at = random.randomBelow(changed.length)
    const kind = random.randomBelow(8)
    if (kind === 0) changed = changed.subarray(0, at)
    else if (kind === 1)
      changed = Buffer.concat([changed.subarray(0, at), changed.subarray(at + 1)])
    else if (kind === 2)
      changed = Buffer.concat([
        changed.subarray(0, at),
        Buffer.of(random.randomBelow(256)),
        changed.subarray(at),
      ])
    else if (kind === 3) changed[at] = random.pick([0, 0x7f, 0x80, 0xc0, 0xff])
    else changed[at] = random.randomBelow(256)
  }
  return changed
}
