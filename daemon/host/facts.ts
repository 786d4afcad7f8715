import { readFile } from 'node:fs/promises'
import os from 'node:os'
import type { HostFacts } from '../../shared/wire/announce.ts'

/** Reads the facts about this machine. */
export const readHostFacts = async (osRelease = '/etc/os-release'): Promise<HostFacts> => {
  const cpus = os.cpus()
  return {
    hostname: os.hostname().slice(0, 253),
    os: parsePrettyName(await readFile(osRelease, 'utf8').catch(() => '')).slice(0, 128),
    kernel: os.release().slice(0, 128),
    arch: process.arch,
    cpu_model: (cpus[0]?.model ?? '').trim().slice(0, 256),
    cpu_count: os.availableParallelism(),
    memory_total_bytes: os.totalmem(),
  }
}

/** PRETTY_NAME of os-release(5), or the kernel's name. */
export const parsePrettyName = (text: string): string =>
  /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(text)?.[1] ?? os.type()
