import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { listOverrides } from './arrows/table.ts'

/** Writes the table of arrows into `biome.json`. */
const root = resolve(import.meta.dirname, '..')
const path = join(root, 'biome.json')
const settings = JSON.parse(readFileSync(path, 'utf8'))
writeFileSync(path, JSON.stringify({ ...settings, overrides: listOverrides() }))
const biome = join(root, 'node_modules/.bin/biome')
const { status } = spawnSync(biome, ['format', '--write', path], { stdio: 'inherit' })
process.exitCode = status ?? 1
