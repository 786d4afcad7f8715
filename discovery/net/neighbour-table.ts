import { readFile } from 'node:fs/promises'

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

export const parseArpTable = (text: string): Map<string, string> => {
  const complete = new Map<string, string>()
  for (const line of text.split('\n').slice(1)) {
    const [address, , flags, mac] = line.trim().split(/\s+/)
    if (address && mac && (Number(flags) & COMPLETE) !== 0) complete.set(address, mac.toLowerCase())
  }
  return complete
}
