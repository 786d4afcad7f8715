import { testOf } from './tap-per-file.ts'

/** Module that the file in the query of this module's URL imports as `tap`. */
export default testOf(new URL(import.meta.url).searchParams.get('file') ?? '')
