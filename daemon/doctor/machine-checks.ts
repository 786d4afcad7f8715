import { existsSync } from 'node:fs'
import { readdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { CatalogueEntry } from '../../shared/catalogue.ts'
import { FILE_REMEDY, findFileFaults } from '../devices/config-faults.ts'
import { chooseSampler, thisMachine } from '../gpu/choose.ts'
import { GPU_WAIT_MS, readFirst } from '../gpu/first-reading.ts'
import { noGpus } from '../gpu/sampler.ts'
import { checkGguf } from '../inference/gguf.ts'
import { placesOf, resolveWeights, type WeightsPlaces } from '../inference/weights.ts'
import { type DoctorCheck, fail, ok, skip, warn } from './check.ts'

/* What can be seen without the coordinator. */

const MIB = 1024 * 1024
const GIB = 1024 * MIB

export const gpus: DoctorCheck = async ({ path, signal }) => {
  const stop = new AbortController()
  const sampler = await chooseSampler(thisMachine(path, 1))
  const { gpus, reason } = await readFirst(sampler, AbortSignal.any([signal, stop.signal]))
  stop.abort()
  if (reason !== undefined)
    return warn(reason, 'check the driver with its own tool, such as nvidia-smi')
  if (sampler === noGpus) return ok('no GPU was found: models run on the CPU')
  if (gpus.length === 0)
    return warn(
      `the driver did not answer within ${GPU_WAIT_MS / 1000} s`,
      'check the driver with its own tool, such as nvidia-smi',
    )
  const names = sampler.facts().map(({ name }) => name)
  return ok(`${gpus.length} found: ${[...new Set(names)].join(', ')}`)
}

export const disk: DoctorCheck = async ({ config }) => {
  const space = await statfs(nearestExisting(config.state_dir))
  const freeBytes = space.bavail * space.bsize
  const says = `${(freeBytes / GIB).toFixed(1)} GiB free for ${config.state_dir}`
  if (freeBytes < 16 * MIB) return fail(says, 'make room: the daemon cannot keep its identity')
  if (freeBytes < config.spool.max_bytes)
    return warn(says, 'make room, or lower spool.max_bytes: samples may be lost in an outage')
  return ok(says)
}

/** The folder itself, or its nearest existing parent. */
const nearestExisting = (path: string): string =>
  existsSync(path) ? path : nearestExisting(dirname(path))

export const spool: DoctorCheck = async ({ config }) => {
  const folder = join(config.state_dir, 'spool')
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  let bytes = 0
  for (const name of names) {
    const facts = await stat(join(folder, name)).catch(() => undefined)
    if (facts?.isFile()) bytes += facts.size
  }
  const says = `${(bytes / MIB).toFixed(1)} MiB of ${(config.spool.max_bytes / MIB).toFixed(0)} MiB wait for the coordinator`
  return bytes > config.spool.max_bytes * 0.9
    ? warn(says, 'the oldest samples are dropped until the coordinator is back')
    : ok(says)
}

/** Checks the files that links to devices need. */
export const devices: DoctorCheck = async ({ config: { devices: configured } }) => {
  const { links } = configured
  if (links.length === 0) return skip('no links to devices are configured')
  const faults = await findFileFaults(links)
  return faults.length === 0
    ? ok(`${links.length} links to devices; their files can be read`)
    : fail(faults.join('; '), FILE_REMEDY)
}

/** Checks the headers of weights files; digests are verified when a file is loaded. */
export const weights: DoctorCheck = async ({ config }) => {
  const faults: string[] = []
  const files = new Set<string>()
  const places = placesOf(config.inference, config.state_dir)
  let toFetch = 0
  for (const entry of config.catalogue) {
    const { file, fault, absent } = await lookAt(entry, places)
    if (absent && !files.has(file)) toFetch++
    if (fault !== undefined && !files.has(file)) faults.push(fault)
    files.add(file)
  }
  if (faults.length > 0)
    return fail(faults.join('; '), "correct the model's `weights` in the catalogue")
  const says = `${files.size} files for ${config.catalogue.length} models`
  return ok(toFetch === 0 ? says : `${says}; ${toFetch} will be downloaded when they are loaded`)
}

const lookAt = async (
  entry: CatalogueEntry,
  places: WeightsPlaces,
): Promise<{ file: string; fault?: string; absent?: boolean }> => {
  try {
    const { file, url } = resolveWeights(entry, places)
    if (url !== undefined && !existsSync(file)) return { file, absent: true }
    await checkGguf(file)
    return { file }
  } catch (error) {
    return { file: entry.weights, fault: `${entry.id}: ${(error as Error).message}` }
  }
}
