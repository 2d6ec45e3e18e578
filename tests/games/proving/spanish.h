! Spanish for Inform's library, as small as the stories here need it.
Include "foreign";
Class CompassDirection with number 0, article "el", description "Nada especial.", compass_look false, parse_name [; return -1; ] has scenery;
Object Compass "brújula" has concealed;
CompassDirection -> n_obj with short_name "norte", door_dir n_to, name 'n//' 'norte';
CompassDirection -> s_obj with short_name "sur", door_dir s_to, name 's//' 'sur';
CompassDirection -> e_obj with short_name "este", door_dir e_to, name 'e//' 'este';
CompassDirection -> w_obj with short_name "oeste", door_dir w_to, name 'o//' 'oeste';
CompassDirection -> ne_obj with short_name "noreste", door_dir ne_to, name 'ne' 'noreste';
CompassDirection -> nw_obj with short_name "noroeste", door_dir nw_to, name 'no' 'noroeste';
CompassDirection -> se_obj with short_name "sureste", door_dir se_to, name 'se' 'sureste';
CompassDirection -> sw_obj with short_name "suroeste", door_dir sw_to, name 'so' 'suroeste';
CompassDirection -> u_obj with short_name "arriba", door_dir u_to, name 'arriba' 'techo' 'cielo';
CompassDirection -> d_obj with short_name "abajo", door_dir d_to, name 'abajo' 'suelo';
CompassDirection -> in_obj with short_name "dentro", door_dir in_to;
CompassDirection -> out_obj with short_name "fuera", door_dir out_to;
Constant AGAIN1__WD 'repetir'; Constant AGAIN2__WD 'g//'; Constant AGAIN3__WD 'repetir';
Constant OOPS1__WD 'eepa'; Constant OOPS2__WD 'eepa'; Constant OOPS3__WD 'eepa';
Constant UNDO1__WD 'deshacer'; Constant UNDO2__WD 'anular'; Constant UNDO3__WD 'deshacer';
Constant ALL1__WD 'todo'; Constant ALL2__WD 'todos'; Constant ALL3__WD 'todas'; Constant ALL4__WD 'todo'; Constant ALL5__WD 'ambos';
Constant AND1__WD 'y//'; Constant AND2__WD 'y//'; Constant AND3__WD 'e//';
Constant BUT1__WD 'excepto'; Constant BUT2__WD 'menos'; Constant BUT3__WD 'excepto';
Constant ME1__WD 'yo'; Constant ME2__WD 'mí'; Constant ME3__WD 'mi';
Constant OF1__WD 'de'; Constant OF2__WD 'de'; Constant OF3__WD 'de'; Constant OF4__WD 'de';
Constant OTHER1__WD 'otro'; Constant OTHER2__WD 'otra'; Constant OTHER3__WD 'otro';
Constant THEN1__WD 'luego'; Constant THEN2__WD 'entonces'; Constant THEN3__WD 'luego';
Constant NO1__WD 'no'; Constant NO2__WD 'no'; Constant NO3__WD 'no';
Constant YES1__WD 's//'; Constant YES2__WD 'sí'; Constant YES3__WD 'si';
Constant AMUSING__WD 'curiosidades'; Constant FULLSCORE1__WD 'desglose'; Constant FULLSCORE2__WD 'desglose';
Constant QUIT1__WD 'terminar'; Constant QUIT2__WD 'fin'; Constant RESTART__WD 'reiniciar'; Constant RESTORE__WD 'cargar';
Array LanguageDescriptors table
  'el' $$111111111111 DEFART_PK NULL 'la' $$111111111111 DEFART_PK NULL 'los' $$000111000111 DEFART_PK NULL
  'las' $$000111000111 DEFART_PK NULL 'un' $$111000111000 INDEFART_PK NULL 'una' $$111000111000 INDEFART_PK NULL;
Array LanguagePronouns table 'lo' $$111111111111 NULL;
Array LanguageNumbers table 'uno' 1 'dos' 2 'tres' 3 'cuatro' 4 'cinco' 5;
Constant LanguageAnimateGender male; Constant LanguageInanimateGender male; Constant LanguageContractionForms 1;
[ LanguageContraction; return 0; ];
Array LanguageArticles --> "El " "el " "un " "Los " "los " "unos " "La " "la " "una " "Las " "las " "unas ";
Array LanguageGNAsToArticles --> 0 2 0 1 3 1 0 2 0 1 3 1;
Constant SCORE__TX "Puntos: "; Constant MOVES__TX "Turnos: "; Constant CANTGO__TX "No puedes ir por ahí.";
Constant YOURSELF__TX "tú mismo"; Constant MYSELF__TX "yo mismo"; Constant YOU__TX "Tú"; Constant DARKNESS__TX "Oscuridad";
Constant OR__TX " o "; Constant NOTHING__TX "nada"; Constant AND__TX " y ";
[ LanguageVerb i; if (i == 'x//') { print "examinar"; rtrue; } rfalse; ];
[ LanguageLM n x1;
  Inv: switch (n) { 1: "No llevas nada."; 2: print "Llevas"; 3: ":"; 4: "."; }
  Look: switch (n) {
    1, 2, 3: print " (", (the) x1, ")";
    4: print "^En ", (the) x1, " hay "; WriteListFrom(child(x1), ENGLISH_BIT+RECURSE_BIT+TERSE_BIT+CONCEAL_BIT); ".";
    5, 6: print "^Puedes ver "; WriteListFrom(child(x1), ENGLISH_BIT+RECURSE_BIT+TERSE_BIT+CONCEAL_BIT+WORKFLAG_BIT); " aquí.";
    7: "No ves nada en esa dirección."; }
  ListMiscellany: switch (n) { 18: print " con "; 19, 20: print " (sobre "; 21, 22: print " (dentro de "; default: print " (cerrado)"; }
  Take: switch (n) { 1: "Cogido."; 5: "Ya lo tienes."; 10, 11: "No se puede coger."; default: "Imposible."; }
  Drop: switch (n) { 1: "Ya está aquí."; 3: "Dejado."; default: "No lo llevas."; }
  Go: if (n == 2) "No puedes ir por ahí."; "No puedes.";
  Open: switch (n) { 2: "Está cerrado con llave."; 3: "Ya estaba abierto."; 4: print "Abres ", (the) x1, ", y descubres "; WriteListFrom(child(x1), ENGLISH_BIT+TERSE_BIT+CONCEAL_BIT); "."; 5: "Abres ", (the) x1, "."; default: "No se puede abrir."; }
  Close: if (n == 3) "Cierras ", (the) x1, "."; "No se puede cerrar.";
  Unlock: switch (n) { 2: "No tiene echado el cerrojo."; 3: "No encaja en la cerradura."; 4: "Quitas el cerrojo."; default: "No tiene cerradura."; }
  Lock: if (n == 5) "Echas el cerrojo."; "No se puede.";
  Examine: "No observas nada especial en ", (the) x1, ".";
  Wait: "Pasa el tiempo.";
  Score: if (n == 2) "Esta historia no tiene puntos."; if (deadflag) print "En esa partida obtuviste "; else print "Hasta ahora llevas "; print score, " de un total de ", MAX_SCORE, " puntos, en ", turns, " turnos"; rtrue;
  Quit, Restart: switch (n) { 1: print "¿Seguro que quieres abandonar? "; 2: print "¿Seguro que quieres abandonar? "; }
  Save, Restore: if (n == 2) "Hecho."; "Falló.";
  Prompt: print "^>>";
  Miscellany: switch (n) {
    3: print " Has muerto "; 4: print " Has ganado "; 5: print "^¿Quieres REINICIAR, CARGAR una partida o TERMINAR?";
    8: "Responde una de esas cosas."; 9: "^¡Está oscuro!"; 10: "¿Cómo dices?"; 13: "[Turno deshecho.]"; 17: "Está muy oscuro."; 18: print "tú mismo"; 19: "Tan bien como siempre.";
    26: "(cogiendo primero ", (the) x1, ")"; 30: "No ves eso por aquí."; 38: "No conozco ese verbo."; 46: print "¿Cuál concretamente, "; 48, 49: "¿Qué quieres hacer?";
    50: print "Tu puntuación ha cambiado"; 56: "."; 57: "?"; default: "No entendí esa frase."; }
  default: "No pasa nada.";
];
