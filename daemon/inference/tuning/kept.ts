import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'

const Found = z.object({
  slots: z.int().min(1),
  threads: z.int().min(1),
  /** Unix time, milliseconds. */
  measured_at: z.int(),
})
type Found = z.infer<typeof Found>

const File = z.record(z.string(), Found)

/** Weights and machines that are remembered. */
const MOST = 64

/** Earlier result from a file; an unreadable file counts as empty. */
export const readKept = async (path: string, key: string): Promise<Found | undefined> =>
  (await readAll(path))[key]

/** The oldest is forgotten when there are many. */
export const keep = async (path: string, key: string, found: Found): Promise<void> => {
  const others = Object.entries(await readAll(path)).filter(([other]) => other !== key)
  const newest = [...others, [key, found] as const]
    .sort(([, a], [, b]) => b.measured_at - a.measured_at)
    .slice(0, MOST)
  await replacePrivate(path, `${JSON.stringify(Object.fromEntries(newest), undefined, 2)}\n`)
}

const readAll = async (path: string): Promise<Record<string, Found>> => {
  try {
    return File.parse(JSON.parse((await readPrivate(path)) ?? '{}'))
  } catch {
    return {}
  }
}
