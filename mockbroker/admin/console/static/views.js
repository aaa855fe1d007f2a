// The views by the first word of the address, in the order of the navigation.

import { Requests } from "./requests.js";

export const VIEWS = [["requests", "Requests", Requests]];
