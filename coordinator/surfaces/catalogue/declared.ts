import { resolve } from 'node:path'
import { loadDeclared } from './load.ts'

/** Every operation of every domain, skills among them. */
export const declared = await loadDeclared(resolve(import.meta.dirname, '..', '..'))
