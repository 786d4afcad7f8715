import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import * as z from 'zod'

const TABLE = '/proc/net/arp'
/** `ATF_COM`: the entry is complete (arp(7)). */
const COMPLETE = 0x2

/**
 * Complete entries of the ARP table, IPv4 address to MAC; undefined on systems without it. The
 * format is that of proc_pid_net(5).
 */
export const readNeighbours = async (): Promise<ReadonlyMap<string, string> | undefined> => {
  try {
    return parseArpTable(await readFile(TABLE, 'utf8'))
  } catch {
    return undefined
  }
}

const execute = promisify(execFile)
const MAX_BYTES = 1024 * 1024
/** Entries of `ip -json` (ip-neighbour(8)); one that is not resolved has no link-layer address. */
const Entries = z.array(z.object({ dst: z.string(), lladdr: z.string().optional() }))

/**
 * Complete entries of the neighbour cache of IPv6, address to MAC; undefined without the program
 * `ip`: the kernel has no file of it.
 */
export const readNeighbours6 = async (): Promise<ReadonlyMap<string, string> | undefined> => {
  try {
    const { stdout } = await execute('ip', ['-6', '-json', 'neigh', 'show'], {
      maxBuffer: MAX_BYTES,
    })
    const entries = Entries.parse(JSON.parse(stdout.trim() || '[]'))
    return new Map(
      entries.flatMap(({ dst, lladdr }) => (lladdr === undefined ? [] : [[dst, lladdr] as const])),
    )
  } catch {
    return undefined
  }
}

export const parseArpTable = (text: string): Map<string, string> => {
  const complete = new Map<string, string>()
  for (const line of text.split('\n').slice(1)) {
    const [address, , flags, mac] = line.trim().split(/\s+/)
    if (address && mac && (Number(flags) & COMPLETE) !== 0) complete.set(address, mac.toLowerCase())
  }
  return complete
}
