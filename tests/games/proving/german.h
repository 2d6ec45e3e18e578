! German for Inform's library, as small as the stories here need it. It has none of the short words x, z, l and i.
Include "foreign";
Class CompassDirection with number 0, article "der", description "Nichts Besonderes.", compass_look false, parse_name [; return -1; ] has scenery;
Object Compass "Kompass" has concealed;
CompassDirection -> n_obj with short_name "Norden", door_dir n_to, name 'n//' 'norden' 'nord';
CompassDirection -> s_obj with short_name "Süden", door_dir s_to, name 's//' 'süden' 'süd';
CompassDirection -> e_obj with short_name "Osten", door_dir e_to, name 'o//' 'osten' 'ost';
CompassDirection -> w_obj with short_name "Westen", door_dir w_to, name 'w//' 'westen' 'west';
CompassDirection -> ne_obj with short_name "Nordosten", door_dir ne_to, name 'no' 'nordosten' 'nordost';
CompassDirection -> nw_obj with short_name "Nordwesten", door_dir nw_to, name 'nw' 'nordwesten' 'nordwest';
CompassDirection -> se_obj with short_name "Südosten", door_dir se_to, name 'so' 'südosten' 'südost';
CompassDirection -> sw_obj with short_name "Südwesten", door_dir sw_to, name 'sw' 'südwesten' 'südwest';
CompassDirection -> u_obj with short_name "oben", door_dir u_to, name 'oben' 'hinauf' 'hoch' 'decke';
CompassDirection -> d_obj with short_name "unten", door_dir d_to, name 'unten' 'hinunter' 'runter' 'boden';
CompassDirection -> in_obj with short_name "drinnen", door_dir in_to;
CompassDirection -> out_obj with short_name "draußen", door_dir out_to;
Constant AGAIN1__WD 'nochmal'; Constant AGAIN2__WD 'g//'; Constant AGAIN3__WD 'nochmal';
Constant OOPS1__WD 'hoppla'; Constant OOPS2__WD 'ups'; Constant OOPS3__WD 'hoppla';
Constant UNDO1__WD 'rückgängig'; Constant UNDO2__WD 'undo'; Constant UNDO3__WD 'zurück';
Constant ALL1__WD 'alles'; Constant ALL2__WD 'alle'; Constant ALL3__WD 'allem'; Constant ALL4__WD 'alles'; Constant ALL5__WD 'beide';
Constant AND1__WD 'und'; Constant AND2__WD 'und'; Constant AND3__WD 'und';
Constant BUT1__WD 'außer'; Constant BUT2__WD 'ohne'; Constant BUT3__WD 'außer';
Constant ME1__WD 'mich'; Constant ME2__WD 'mir'; Constant ME3__WD 'selbst';
Constant OF1__WD 'von'; Constant OF2__WD 'von'; Constant OF3__WD 'von'; Constant OF4__WD 'von';
Constant OTHER1__WD 'anderen'; Constant OTHER2__WD 'andere'; Constant OTHER3__WD 'anderes';
Constant THEN1__WD 'dann'; Constant THEN2__WD 'danach'; Constant THEN3__WD 'dann';
Constant NO1__WD 'nein'; Constant NO2__WD 'nein'; Constant NO3__WD 'nein';
Constant YES1__WD 'j//'; Constant YES2__WD 'ja'; Constant YES3__WD 'ja';
Constant AMUSING__WD 'lustiges'; Constant FULLSCORE1__WD 'voll'; Constant FULLSCORE2__WD 'voll';
Constant QUIT1__WD 'beenden'; Constant QUIT2__WD 'ende'; Constant RESTART__WD 'neustart'; Constant RESTORE__WD 'laden';
Array LanguageDescriptors table
  'der' $$111111111111 DEFART_PK NULL 'die' $$111111111111 DEFART_PK NULL 'das' $$111111111111 DEFART_PK NULL
  'den' $$111111111111 DEFART_PK NULL 'dem' $$111111111111 DEFART_PK NULL 'ein' $$111000111000 INDEFART_PK NULL
  'eine' $$111000111000 INDEFART_PK NULL 'einen' $$111000111000 INDEFART_PK NULL;
Array LanguagePronouns table 'es' $$111111111111 NULL;
Array LanguageNumbers table 'eins' 1 'zwei' 2 'drei' 3;
Constant LanguageAnimateGender male; Constant LanguageInanimateGender neuter; Constant LanguageContractionForms 1;
[ LanguageContraction; return 0; ];
Array LanguageArticles --> "Der " "den " "einen " "Die " "die " "eine " "Das " "das " "ein " "Die " "die " "";
Array LanguageGNAsToArticles --> 0 1 2 3 3 3 0 1 2 3 3 3;
Constant SCORE__TX "Punkte: "; Constant MOVES__TX "Züge: "; Constant CANTGO__TX "Da geht es nicht weiter.";
Constant YOURSELF__TX "du selbst"; Constant MYSELF__TX "ich selbst"; Constant YOU__TX "Du"; Constant DARKNESS__TX "Dunkelheit";
Constant OR__TX " oder "; Constant NOTHING__TX "nichts"; Constant AND__TX " und ";
[ LanguageVerb; rfalse; ];
[ LanguageLM n x1;
  Inv: switch (n) { 1: "Du hast nichts dabei."; 2: print "Du hast dabei"; 3: ":"; 4: "."; }
  Look: switch (n) {
    1, 2, 3: print " (", (the) x1, ")";
    4: print "^Dort liegt "; WriteListFrom(child(x1), ENGLISH_BIT+RECURSE_BIT+TERSE_BIT+CONCEAL_BIT); ".";
    5, 6: print "^Du siehst hier "; WriteListFrom(child(x1), ENGLISH_BIT+RECURSE_BIT+TERSE_BIT+CONCEAL_BIT+WORKFLAG_BIT); ".";
    7: "Dort ist nichts."; }
  ListMiscellany: switch (n) { 18: print " mit "; 19, 20: print " (darauf "; 21, 22: print " (darin "; default: print " (geschlossen)"; }
  Take: switch (n) { 1: "Genommen."; 5: "Das hast du schon."; 10, 11: "Das lässt sich nicht nehmen."; default: "Unmöglich."; }
  Drop: switch (n) { 1: "Das liegt schon hier."; 3: "Abgelegt."; default: "Das hast du nicht."; }
  Go: if (n == 2) "Da geht es nicht weiter."; "Das geht nicht.";
  Open: switch (n) { 2: "Das ist verschlossen."; 3: "Das ist schon offen."; 4: print "Du öffnest ", (the) x1, " und findest "; WriteListFrom(child(x1), ENGLISH_BIT+TERSE_BIT+CONCEAL_BIT); "."; 5: "Du öffnest ", (the) x1, "."; default: "Das lässt sich nicht öffnen."; }
  Close: if (n == 3) "Du schließt ", (the) x1, "."; "Das lässt sich nicht schließen.";
  Unlock: switch (n) { 2: "Das ist nicht verschlossen."; 3: "Das passt nicht."; 4: "Du schließt ", (the) x1, " auf."; default: "Da ist kein Schloss."; }
  Lock: if (n == 5) "Du schließt ", (the) x1, " ab."; "Das geht nicht.";
  Examine: "An ", (the) x1, " ist nichts Besonderes.";
  Wait: "Die Zeit vergeht.";
  Score: if (n == 2) "Hier gibt es keine Punkte."; print "Du hast ", score, " von ", MAX_SCORE, " Punkten, nach ", turns, " Zügen"; rtrue;
  Quit, Restart: switch (n) { 1, 2: print "Wirklich? "; }
  Save, Restore: if (n == 2) "Fertig."; "Das ging schief.";
  Prompt: print "^Was nun? ";
  Miscellany: switch (n) {
    3: print " Sie sind tot "; 4: print " Sie haben gewonnen "; 5: print "^NEUSTART, LADEN oder BEENDEN?";
    8: "Eines davon, bitte."; 9: "^Es ist dunkel."; 10: "Wie bitte?"; 13: "[Rückgängig gemacht.]"; 17: "Es ist stockdunkel."; 18: print "du selbst"; 19: "Gut wie immer.";
    26: "(erst nimmst du ", (the) x1, ")"; 30: "So etwas siehst du hier nicht."; 38: "Dieses Verb kenne ich nicht."; 46: print "Was genau, "; 48, 49: "Was denn?";
    50: print "Dein Punktestand hat sich verändert"; 56: "."; 57: "?"; default: "Das habe ich nicht verstanden."; }
  default: "Das bringt nichts.";
];
