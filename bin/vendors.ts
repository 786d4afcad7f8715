import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node bin/vendors.ts <oui.csv> ...`: writes the table of makers from the lists that IEEE publishes
 * (MA-L, MA-M and MA-S: oui.csv, mam.csv, oui36.csv of https://standards-oui.ieee.org). Columns are
 * registry, assignment, organisation name and address; names may be quoted.
 */
const FILE = join(import.meta.dirname, '../discovery/registry/vendors/oui.txt')
const ROW = /^MA-[LMS],([0-9A-F]{6,9}),(?:"((?:[^"]|"")*)"|([^,]*)),/

const files = process.argv.slice(2)
if (files.length === 0) {
  console.log('usage: node bin/vendors.ts <oui.csv> [mam.csv] [oui36.csv]')
  process.exit(64)
}

const lines = files
  .flatMap(file => readFileSync(file, 'utf8').split(/\r?\n/))
  .flatMap(line => {
    const [, prefix, quoted, plain] = ROW.exec(line) ?? []
    const name = (quoted?.replaceAll('""', '"') ?? plain ?? '').trim()
    return prefix === undefined || name === '' ? [] : [`${prefix.toLowerCase()} ${name}`]
  })
const head = [
  '# Starts of MAC addresses and the organisations that IEEE assigned them to (IEEE RA).',
  '# Written by bin/vendors.ts from the lists of https://standards-oui.ieee.org',
]
writeFileSync(FILE, `${[...head, ...[...new Set(lines)].toSorted()].join('\n')}\n`)
console.log(`${lines.length} assignments in ${FILE}`)
