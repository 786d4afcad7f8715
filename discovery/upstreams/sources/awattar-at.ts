import { defineSource } from '../source.ts'
import germany from './awattar.ts'

/** Prices of the day-ahead market in Austria: https://www.awattar.at/services/api */
export default defineSource({
  ...germany,
  id: 'awattar-at',
  name: 'awattar-at',
  url: 'https://api.awattar.at',
})
